"""torch's `nn.utils.rnn`: sequences of different lengths."""

from jaxvjp.nn.packed_sequences import PackedSequence as PackedSequence
from jaxvjp.nn.packed_sequences import invert_permutation as invert_permutation
from jaxvjp.nn.packed_sequences import pack_padded_sequence as pack_padded_sequence
from jaxvjp.nn.packed_sequences import pack_sequence as pack_sequence
from jaxvjp.nn.packed_sequences import pad_packed_sequence as pad_packed_sequence
from jaxvjp.nn.packed_sequences import pad_sequence as pad_sequence
from jaxvjp.nn.packed_sequences import unpack_sequence as unpack_sequence
from jaxvjp.nn.packed_sequences import unpad_sequence as unpad_sequence
