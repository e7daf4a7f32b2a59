"""The meaning of arguments that many functions share, for docstrings: by name, or by place or function and name.

(*, m, n) is any number of batch dimensions, then m and n.
"""

ROWS = """
actual, expected: a tensor, an array, nested lists of numbers, or a dict of those
argnums: which positional arguments to differentiate with respect to: one, or a tuple of several
as_tuple: whether to return a tensor of positions for each dimension
category: which kind of number: truth values, integers, floating or complex
check_nan: whether a NaN raises
device.index: which of several, from 0
device.type: "cpu", "cuda" or another of torch's, or all of it as text, "cuda:1"
device_type, ownership_token, compute_mode, cudnn_enable, cudnn_enabled, lobpcg.n, method: accepted and without effect
non_blocking, ortho_bparams, ortho_fparams, ortho_iparams, tracker, _stacklevel: accepted and without effect
enable_nested_tensor, mask_check: accepted and without effect
edgeitems: how many elements are shown at each end of a dimension
error_message: what the error says
ext_tensor: anything that has `__dlpack__`
fn: what is called with the gradients
gain: a factor of all numbers
has_aux: whether `func` returns a pair, of which only the first is differentiated
hook: what is called, as said above
hooks: the dict that holds the hook
kwargs: keyword arguments, handed on
last: how many of the last programs
legacy: torch's older name of the type
level: the level, by default the innermost
linewidth: how many characters a line has
models: objects of one class, with the same parameters
node: a step of the backward graph
outer_jacobian_strategy: "reverse-mode" or "forward-mode", which needs `vectorize`
output_nr: which of the step's results
pack_hook: takes a tensor that is saved, and returns what to keep
primal: the value without its tangent
primals: tensors, or tuples, lists and dicts of them
profile: "default", "short" or "full"
randomness: what random tensors are: an "error", the "same" or "different" for each
recurse: whether to look through all transforms under way
remove: "mutations" or "mutations_and_views"
scalar: NumPy's type
sci_mode: whether numbers are shown with an exponent; None where they need it
setting, enabled, inference_mode.mode: whether to switch it on
style: "vjp", "grad" or "jacrev": how the backward pass is written
tangent: a direction, of the tensor's shape and dtype
type, type1, type2: a dtype
unpack_hook: takes what was kept, and returns the tensor
v: the vector of the product, of the shapes said above; None stands for 1
vectorize: accepted, and torch's errors with it; all rows are always computed at once
volatile: torch's oldest flag, which is refused
Size.sizes: the sizes, integers
1d.input: of shape (N, C, W), or without N
2d.input: of shape (N, C, H, W), or without N
3d.input: of shape (N, C, D, H, W), or without N
convolution.weight: kernels, of shape (C out, C in / groups, *kernel); of a transposed one as said above
class_losses.weight: how much each class counts, of shape (classes,)
loss.weight: how much each element counts, of a shape that broadcasts
linear.weight: of shape (features out, features in)
linear.input: of shape (*, features in)
linear.bias: of shape (features out,), or None
bilinear.weight: of shape (features out, features in 1, features in 2)
prelu.weight: the slope below 0, one or one for each channel
lerp.weight: how far from `input` to `end`, a number or a tensor that broadcasts
normalization.weight: a factor for each normalized number or channel, or None
normalization.bias: added to each normalized number or channel, or None
embedding.weight: the table, of shape (rows, D)
decompositions.input, solving.input, A: matrices, floating or complex, of shape (*, m, n)
mm.input: of shape (n, m)
bmm.input: of shape (b, n, m)
fft.input: the signal, real or complex, of any shape
as_strided.stride: how far apart neighbours are in the storage, in elements, for each dimension
B: the right-hand side, of shape (*, m, k), or (*, m) for vectors
C: how many channels
HxW: how many numbers a channel has
LD: L and D in one, as `linalg.ldl_factor` gives them, of shape (*, n, n)
LU, LU_data: L and U in one, as `linalg.lu_factor` gives them, of shape (*, n, n)
LU_pivots, pivots: the rows exchanged, counted from 1, int32 of shape (*, n)
L, cholesky_solve.input2: Cholesky's factor, triangular, of shape (*, n, n)
M: how many samples the window has
svd_lowrank.M: a mean to be subtracted from A, of A's shape
N: how many powers; by default as many as `x` has elements
native_group_norm.N: how many examples the batch has
UPLO: the triangle that is read, "L" or "U"
X: where an iteration would start; without effect
a: the first tensor; where floats are asked for, the lower bound or a coefficient
general_cosine.a: the weights of the cosines
abs: the magnitudes, floating
accumulate: whether to add to what is there instead of replacing it
add_zero_attn: whether a key and a value of zeros are appended
adjoint: whether to solve with A's adjoint
affine: whether scale and shift are learned
align_corners: whether the centres of the corner elements, and not their edges, are aligned
align_to_window: whether the first window begins where the signal does; only without `center`
alpha: the factor of what is added, or the slope of the negative side
anchor: what the two others are compared with, of shape (N, D) or (D)
angle: the angles, in radians, of the dtype of `abs`
antialias: whether to filter when making smaller
append: what stands after the tensor before it is differenced
approximate: "none", or "tanh" for the approximation with it
args: positional arguments, handed on
arguments: what to work on, as in the overloads of torch's function
assume_unique: promise that no element occurs twice; without effect on the result
atol: how far numbers may be apart, absolutely; of singular values, which of them count as 0
attn_mask: added to the scores, or bool: True where to attend, of a shape that broadcasts to (*, L, S)
average_attn_weights: whether the weights are averaged over the heads
aweights: how much each observation weighs
axis, dim, dimension: the dimension to work along, counted from the end if negative
axis0, dim0: one of the dimensions
axis1: the other
b: the second tensor; where floats are asked for, the upper bound
base: the base of the powers
batch1: matrices of shape (b, n, m)
batch2: matrices of shape (b, m, p)
beta: the factor of `input`, or the parameter of the function's shape
bias: added to each output channel, of shape (channels out,), or None
bias_k: appended to the keys
bias_v: appended to the values
bins: how many cells, or their edges
blank: the number of the class for no label
boundaries: ascending edges, of one dimension
bounds: integers, as for `range`: the end, or start and end, or start, end and step
randint.bounds: `low` (0 by default), `high`, which is excluded, and the shape
randint_like.bounds: `low` (0 by default) and `high`, which is excluded
broadcast: whether one element stands for as many as there are on the other side
ceil_mode: whether windows that the edge cuts off count
center: whether frames are centred on their times, the signal being padded
pca_lowrank.center: whether to subtract the mean of each column
exponential.center: where the window's largest number is; the middle by default
check_errors: whether to raise where the numbers allow no result, instead of saying so in `info`
chunks: how many pieces, at most
col: how many columns
compute_uv: whether U and V are wanted
condition: bool: where True, `input` is taken, else `other`
copy: whether to copy memory that could be shared
correction: what is subtracted from the number of elements; 1 for the unbiased estimate
count_include_pad: whether the padding counts in the mean
create_graph: whether the result can be differentiated in turn
d: the time between samples, in seconds for frequencies in hertz
data: numbers, nested lists of them, an array or a tensor
decimals: how many digits behind the point; negative ones count before it
delta: where the square becomes a line
density: whether to divide by the total and the cells' sizes
descending: whether the largest comes first
destination: where to, one place for each of `source`
device: where it is to be, such as "cpu" or "cuda:0"; by default where the input is, or the default device
devices: accepted and without effect: numbers are drawn on the host
diagonal, offset: which diagonal: 0 the main one, positive above it, negative below
dilation: how far apart the elements are that a kernel covers, an int or one for each spatial dimension
dim1, dim2: the other dimension
dims: the dimension or dimensions, counted from the end if negative; where None is taken, all
tensordot.dims: how many dimensions are summed over, or which ones of each tensor
distance_function: of two tensors, to their distances; the Euclidean one by default
divisor_override: what to divide by instead of the window's size
downscale_factor: how many pixels of each dimension go into channels
driver: accepted, checked as torch does on the CPU, and without effect
dropout_p: the probability that a weight is dropped
dtype: the element type of the result, and of the computation
dx: the distance between neighbouring points
edge_order: 1 or 2: the order of the differences at the edges
elements: what is looked for
embed_dim_to_check: the size that the embedding must have
enable_gqa: whether several query heads share a key head
end: where it ends; a tensor for `lerp`, a position else, excluded
linspace.end: the last number
logspace.end: the last exponent
end_dim: the last of the dimensions that are joined
eps: a small number that keeps a denominator, or an argument of a logarithm, from 0
equal_nan: whether NaN equals NaN
equation: the indices of each operand and of the result, as for `jnp.einsum`
exponent: what to raise to
fill: what stands where the mask is False
fill_value, val: the number that is written everywhere
from_: the dtype to convert
full: whether constant terms are added
full_matrices: whether U and Vh are square
func, function: a function of tensors
further: what torch's kernel takes beside, in its order
fweights: how often each observation occurred, integers
generator: where random numbers come from; torch's default generator if None
get_infos: whether to return the numbers of singular pivots as well
given: the window's parameters, as torch has them
grad_output: the cotangent of the output
gradient: v of vᵀJ: a tensor of the result's shape, None for 1 where the result has one element
grid: where to sample, from -1 to 1 across the input, of shape (N, *out, 2 or 3)
group: how many groups of channels
groups: how many groups of channels are kept apart
hard: whether samples become one-hot, with the gradient of the soft ones
hermitian: whether A may be taken for Hermitian
hop_length: samples between two frames; `n_fft // 4` by default
iK: a preconditioner; without effect
ignore_index: the class whose elements do not count
imag: the imaginary parts, of the dtype of `real`
in_proj_bias: the three projections' biases in one
in_proj_weight: the three projections in one, of shape (3 E, E)
int: how many
including_emulation: False to ask for a compute capability of 8 or more
include_last_offset: whether the last offset is the number of indices
include_self: whether what is there counts in the reduction
increasing: whether the powers ascend
ind: how many of A's dimensions are rows
index: positions, int64 (or int32), in range; a tensor, where it is not one integer
indexing: "ij" or "xy", which exchanges the first two dimensions
indices: positions, int64 (or int32), in range
indices_or_sections: where to cut, or into how many pieces
initial: what each reduction starts from
inplace: whether to write into `input`
input: of any shape, real or complex where the mathematics allows
input1, input2: of shape (N, *) or (*)
decompositions.input2: the reflections' factors
input3: the matrix that is multiplied
inputs: a tensor or a tuple of tensors
input_dtype: the dtype of the input that the gradient is of
input_lengths: how long each sequence is, integers of shape (N,)
input_mask: bool, which elements of `input` count
interpolation: "linear", "lower", "higher", "midpoint" or "nearest": what lies between two ranks
interpolation_mode: 0 linear, 1 nearest, 2 cubic
invert: whether to say where they are not
is_causal: whether each query sees only the keys up to its own place
k: how many, or which in ascending order counted from 1
rot90.k: how many quarter turns
keepdim: whether reduced dimensions stay, with size 1
kernel_size: the window's size, one int or one for each spatial dimension
key: of shape (*, S, E)
key_padding_mask: bool, which keys to ignore, of shape (N, S)
label_smoothing: how much of each target is spread over all classes, from 0 to 1
lambd: where the function leaves 0
largest: whether the largest are wanted, and not the smallest
layout: accepted: strided is the only one
left: whether A stands on the left of X
length: how many indices, or samples
lengths: how long each stretch is, int64
linear_bias: of shape (classes,)
linear_weight: of shape (classes, features)
log_input: whether `input` is a logarithm
log_probs: logarithms of probabilities, of shape (T, N, classes) or (T, classes)
log_target: whether `target` is a logarithm
logits: logarithms of weights, of shape (*, classes)
lower: the least slope
m: how many columns; as many as rows by default
margin: how far apart they are to be
mask: bool, of a shape that broadcasts to the input's; True is what is meant
mat, mat1: a matrix of shape (n, m)
mat2: a matrix of shape (m, p), for `bmm` (b, m, p)
matrices: two or more of two dimensions, whose inner sizes agree
max: the largest number that stays; None for no bound
max_norm: rows longer than this are shortened to it, in place
max_val: the largest number that stays
maxnorm: how long slices may be
mean: the mean
cauchy_.median: where the peak is
cauchy_.sigma: half the peak's width at half its height
memory_format: which order of dimensions strides are to have
min: the smallest number that stays; None for no bound
min_val: the smallest number that stays
minlength: how many counts at least
mode: one of the words above
linalg_qr.mode: "reduced", "complete", or "r" for R alone
pad.mode: "constant", "reflect", "replicate" or "circular"
interpolate.mode: "nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear" or "area"
grid_sample.mode: "bilinear", "nearest" or "bicubic"
embedding_bag.mode: "sum", "mean" or "max"
nn.init.mode: "fan_in" or "fan_out": which variances stay, forward or backward ones
set_grad_enabled.mode: whether gradients are recorded
get_autocast_dtype.device_type, is_autocast_enabled.device_type, is_autocast_available.device_type: "cpu" or "cuda"
module: what holds the parameters
momentum: how much of the new statistics is taken over, from 0 to 1; None for their mean
n: a whole number; of polynomials and derivatives the order, of transforms the signal's length
name: a name
named: what torch's function takes by name
nan: what replaces NaN; 0 by default
ndarray: whose memory is shared
need_weights: whether the weights are returned
negative: what is to be far from the anchor, of its shape
negative_slope: the slope below 0
neginf: what replaces minus infinity; the least finite number by default
new_state: what `get_rng_state` gave
new_states: what `get_rng_state_all` gave
niter: how many refinements
nonlinearity: the name of the function behind the layer, such as "relu"
norm: "forward", "backward" or "ortho": which direction is divided by n, or both by its root
norm_type: the exponent of the norm
normalized: whether frames are divided by the root of `n_fft`
normalized_shape: the sizes of the last dimensions, which are normalized together
num_chunks: how many pieces
num_classes: how many classes; -1 for the largest number and one more
num_groups: how many groups the channels are split into
num_heads: how many heads share the embedding
num_samples: how many to draw for each row
obj: anything
offsets: where each stretch begins, int64
onesided: whether only the frequencies that are not negative are there
operands: tensors, as many as the equation names
options: accepted, as torch's, and without effect on the result
ord: the order of the norm: a number, or a word for matrices
other: the second operand, of a shape that broadcasts with the first
other_mask: bool, which elements of `other` count
out: a tensor to write the result into, and to return
out_int32: whether positions are int32 and not int64
out_proj_bias: of shape (E,), or None
out_proj_weight: of shape (E, E)
output: what the function gave
output_padding: how much is added at one side of the result, one int or one for each spatial dimension
output_ratio: the size of the result as a part of the input's, from 0 to 1
output_size: the size of the result, one int or one for each spatial dimension
p: the exponent of a norm; a probability where random numbers are drawn; the dimension for `mvlgamma`
pad: how much to add at each side: last dimension left and right, then the one before it
pad_mode: how the signal is padded, as for `nn.functional.pad`
padding: how much to add at each side, an int or one for each spatial dimension; "same" or "valid"
padding_idx: the row that gets no gradient
padding_mode: "zeros", "border" or "reflection": what is outside; of kernels their numbers 0, 1, 2
param: the function's own parameter, such as a slope
parameters: those of the distribution, by place or by name, as torch has them
per_sample_weights: a factor for each index
periodic: whether the next height would be the first again
physical_layout: the dimensions in the order in which they lie in memory
pin_memory: accepted and without effect: JAX moves memory itself
pivot: whether rows are exchanged; False only on a GPU in torch, and refused here as there
pos_weight: how much the positive class counts, for each class
posinf: what replaces infinity; the largest finite number by default
positive: what is to be near the anchor, of its shape
precision: "highest", "high" or "medium"
prepend: what stands before the tensor before it is differenced
q: how many singular values are computed
quantile.q, nanquantile.q: ranks from 0 to 1, a number or a tensor of one dimension
query: of shape (*, L, E)
r: how many elements a combination has
range: the least and the largest edge, for each dimension; from the data by default
rcond: singular values up to this times the largest count as 0
real: the real parts, floating
recompute_scale_factor: whether the scale follows from the rounded size
reduce, size_average: accepted, as in torch: older name of `reduction`
scatter.reduce: "add" or "multiply"
scatter_reduce.reduce: "sum", "prod", "mean", "amax" or "amin"
index_reduce.reduce: "prod", "mean", "amax" or "amin"
segment_reduce.reduce: "sum", "mean", "max", "min" or "prod"
reduction: "mean", "sum", or "none" for a loss of each element
repeats: how often, an integer or one for each element or dimension
replacement: whether one position may be drawn twice
requires_grad: whether `backward` accumulates into its `.grad`
retain_graph: whether the graph may be walked again; by default as `create_graph`
return_complex: whether the result is complex; else the last dimension is real and imaginary part
return_counts: whether to return how often each occurs
return_indices: whether to return where each maximum was, too
return_inverse: whether to return which of them each element is
right: whether equal edges are passed over
rounding_mode: None, "floor", or "trunc" for towards 0
row: how many rows
rtol: how far numbers may be apart, relatively; of singular values, which of them count as 0
running_mean: a mean of each channel, written in training; None for none
running_var: a variance of each channel, written in training; None for none
s: the signal's length in each of the dimensions; as it is by default
add.s: a number
scale: a factor of the scores, `1 / sqrt(E)` by default
native_dropout_backward.scale: a factor of what was kept
scale_factor: how many times larger, one number or one for each spatial dimension
scale_factors: how many times larger, for each spatial dimension
scale_grad_by_freq: whether gradients are divided by how often a row occurs
scales_h: how many times higher
scales_w: how many times wider
seed: an integer of 64 bits
self: of any shape
shape: the sizes of the result; one of them may be -1 where elements are only rearranged
shapes: tuples of sizes
shifts: by how many places, one for each of `dims`
side: "left" or "right": before equal edges or behind them
size: the sizes of the result, one by one or as a sequence
local_response_norm.size: how many neighbouring channels count
interpolate.size: the spatial sizes of the result
unfold.size: how long a window is
nonzero_static.size: how many rows the result has
sizes: the sizes that the dimension is made into; one of them may be -1
some: whether the factors are reduced
sorted: whether the result is in order
sorted_sequence: ascending along the last dimension
sorter: what `argsort` gave, where the sequence itself is not sorted
source, src: what is written, of the shape that the positions have
movedim.source: which dimensions are moved
set_.source: whose storage is taken over
spacing: the distance of the points: a number, one for each dimension, or their coordinates
sparse, sparse_grad: accepted and without effect: gradients are dense
sparsity: the fraction of zeros in each column, from 0 to 1
split_size, split_size_or_sections: how many indices a piece has, or those of each piece
split_sizes: how many indices each piece has
stable: whether equal elements keep their order
start: where it begins: a position, or the first number
start_dim: the first of the dimensions that are joined
static_k: keys to use instead, of shape (N heads, S, E)
static_v: values to use instead, of shape (N heads, S, E)
std: the standard deviation
step: from one index to the next
steps: how many numbers
storage_offset: at which element of the storage the tensor begins
strict: whether an output that does not depend on an input is an error, instead of zeros
stream.stream: a `Stream`, or None
stride: how far from one window to the next, an int for all spatial dimensions or one for each
swap: whether the nearer of anchor and positive counts for the negative
sym: whether the window reads the same from both ends
target: of the shape of `input`
target_lengths: how long each target is, integers of shape (N,)
targets: numbers of classes, of shape (N, S), or all in one dimension
tau: the reflections' factors, or the temperature or decay, a positive number
tensor: the tensor to work on
tensor1: the first factor, of a shape that broadcasts
tensor2: the second factor, of a shape that broadcasts
tensors: tensors, in a sequence, or as torch takes them one by one
test_elements: what they are looked for in
the_template: whose shape it gets
theta: affine matrices, of shape (N, 2, 3) or (N, 3, 4)
threshold: where the function changes
to: the dtype to convert to
tol: singular values up to this count as 0
train: whether to drop; None as True
training: whether to work as in training: to drop, or to normalize by the batch's own statistics
transpose: whether to work with the transpose
unbiased: whether to divide by one less than the number of elements
unitriangular: whether the diagonal counts as ones, and is not read
unpack_data: whether L and U are wanted
unpack_pivots: whether P is wanted
unsafe: whether to leave the lengths unchecked
upper: whether the upper triangle is meant
rrelu.upper: the largest slope
upscale_factor: how many pixels of each dimension come out of channels
use_input_stats: whether to normalize by the input's own statistics
use_separate_proj_weight: whether query, key and value have projections of their own
q_proj_weight: the projection of queries
k_proj_weight: the projection of keys
v_proj_weight: the projection of values
value: what is written, or the factor of a product that is added
values: what is written, of a shape that broadcasts to what the indices pick
var: variances, of the shape of `input`, or 1 in its last dimension
vec, vec2: of shape (m,)
vec1: of shape (n,)
weight: a factor for each element, of a shape that broadcasts
weights: how much each element counts
win_length: the window's length, `n_fft` by default
window: what each frame is multiplied by, of shape (win_length,)
window_length: how many heights the window has
n_fft: how many samples a frame has
with_replacement: whether an element may occur twice
wrap: whether the diagonal starts anew below the last row
x: floating, of any shape; coordinates for `trapezoid`
x1: points, of shape (*, n, d)
x2: points, of shape (*, m, d)
y: floating, of a shape that broadcasts with the other
zero_infinity: whether infinite losses count as 0
_random_samples: where windows begin, drawn if None
activation: "relu", "gelu", or a function
add_bias_kv: whether there is one more key, with its value, that are learned
batch_first: whether the batch is the first dimension, not the second
bidirectional: whether a second network reads the sequence backwards
custom_decoder: a decoder in place of the usual one
custom_encoder: an encoder in place of the usual one
cutoffs: the classes at which the groups of rare ones begin
d_model, embed_dim: the size of the vectors that come in and go out
decoder_layer, encoder_layer: the layer that is copied
dim_feedforward: the size between the two linear layers
div_value: how many times fewer features a group has than the one before
dropout: the probability that a number is dropped in training
elementwise_affine: whether it has a weight, and a bias, for each element
embedding_dim: the size of a vector
head_bias: whether the head has a bias
hidden_size: the size of the state
in1_features: the size of the first input's last dimension
in2_features: the size of the second input's last dimension
in_channels: how many channels come in
in_features: the size of the input's last dimension
init: the number that all slopes have at first
input_size: the size of an element of the sequence
kdim: the size of a key, by default `embed_dim`
layer_norm_eps: is added to variances
max_value: the old name of `max_val`
min_value: the old name of `min_val`
n_classes: how many classes there are
nhead: how many heads share the vectors
norm_first: whether to normalize before a part, not after it
num_channels, num_features: how many channels there are
num_decoder_layers: how many layers the decoder has
num_embeddings: how many vectors there are
num_encoder_layers: how many layers the encoder has
num_layers: how many layers there are, each reading the one before
num_parameters: how many slopes there are: 1, or one for each channel
out_channels: how many channels come out
out_features: the size of the result's last dimension
proj_size: the size to which an LSTM's outputs are projected; 0 for no projection
track_running_stats: whether it keeps running statistics, and uses them in evaluation
unflattened_size: the sizes of the dimensions that replace it
vdim: the size of a value, by default `embed_dim`
_freeze: whether the vectors are not trained
_weight: the vectors, drawn if None
"""
"""The names with one meaning, and what that is."""
PARTS = [row.partition(": ") for row in ROWS.strip().splitlines()]
WORDS = {name: meaning for names, _, meaning in PARTS for name in names.split(", ")}
