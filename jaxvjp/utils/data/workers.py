"""Workers of a `DataLoader`: threads that make batches while a step runs.

torch's workers are processes. Threads need no second copy of JAX, nor a script that can be imported; NumPy, image
decoders and JAX release Python's lock while they work. As in torch each worker has a copy of the dataset (a shallow
one) and a generator of its own, seeded by the base seed plus its number, so that the batches are torch's. Python's
`random` and `numpy.random` are one for all threads.
"""

from __future__ import annotations

import copy
import threading
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any, NoReturn

from jaxvjp.library.generator import Generator, default_generator


class WorkerInfo:
    """What a worker knows of itself: `id`, `num_workers`, `seed`, and `dataset`, its own copy."""

    def __init__(self, id: int, num_workers: int, seed: int, dataset: Any) -> None:
        self.id = id
        self.num_workers = num_workers
        self.seed = seed
        self.dataset = dataset

    def __repr__(self) -> str:
        return "WorkerInfo({})".format(", ".join(f"{name}={each}" for name, each in vars(self).items()))


class _Here(threading.local):
    info: WorkerInfo | None = None


_here = _Here()


def get_worker_info() -> WorkerInfo | None:
    """In a worker of a `DataLoader` what it is, else None. Counterpart of `torch.utils.data.get_worker_info`."""
    return _here.info


class Task:
    """A batch to make. `ended` says that the worker's iterator has no more."""

    def __init__(self, worker: int, epoch: int, numbers: Any) -> None:
        self.worker = worker
        self.epoch = epoch
        self.numbers = numbers
        self.done = threading.Event()
        self.batch: Any = None
        self.error: tuple[Exception, str] | None = None
        self.ended = False


Fetch = Callable[[Any], Any]
Queue = SimpleQueue[Task | None]


def _work(info: WorkerInfo, start: Callable[[Any], Fetch], init: Any, tasks: Queue, stopped: threading.Event) -> None:
    """What the thread of a worker does: makes the batches of `tasks` until it gets None."""
    _here.info = info
    default_generator.start_own(Generator().manual_seed(info.seed))
    fetch: Fetch | None = None
    epoch = 0
    while (task := tasks.get()) is not None:
        if stopped.is_set():
            continue
        try:
            if epoch == 0 and init is not None:
                init(info.id)
            if fetch is None or epoch != task.epoch:
                epoch, fetch = task.epoch, start(info.dataset)
            task.batch = fetch(task.numbers)
        except StopIteration:
            task.ended = True
        except Exception as error:
            task.error = (error, traceback.format_exc())
        task.done.set()
        task = None  # or its batch would live until the next one


def _stop(threads: list[threading.Thread], queues: list[Queue], stopped: threading.Event) -> None:
    stopped.set()
    for each in queues:
        each.put(None)
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(timeout=5)


class Workers:
    """Threads that make the batches for `numbers`, some ahead; iterating over it gives them in order.

    Args:
        start: `(dataset) -> fetch`, called in each thread when an epoch starts; `fetch(numbers)` makes a batch.
        seed: the base seed.
        ahead: how many batches each worker makes ahead.
        timeout: after how many seconds to give up waiting for one; 0 for never.
    """

    def __init__(
        self, dataset: Any, start: Callable[[Any], Fetch], init: Any, count: int, seed: int, ahead: int, timeout: float
    ) -> None:
        self._queues: list[Queue] = [SimpleQueue() for _ in range(count)]
        self._ahead = ahead * count
        self._timeout = timeout
        self._tasks: deque[Task] = deque()
        self._epoch = 0
        stopped = threading.Event()
        threads = []
        for number, tasks in enumerate(self._queues):
            info = WorkerInfo(number, count, seed + number, copy.copy(dataset))
            arguments = (info, start, init, tasks, stopped)
            name = f"jaxvjp DataLoader worker {number}"
            threads.append(threading.Thread(target=_work, args=arguments, daemon=True, name=name))
            threads[-1].start()
        self.stop = weakref.finalize(self, _stop, threads, self._queues, stopped)

    def begin(self, numbers: Iterator[Any]) -> None:
        """Starts an epoch."""
        self._numbers = numbers
        self._epoch += 1
        self._tasks.clear()
        self._active = list(range(len(self._queues)))
        self._next = 0
        for _ in range(self._ahead):
            self._put()

    def _put(self) -> None:
        """Gives the next numbers to the next worker that has more."""
        if not self._active:
            return
        try:
            numbers = next(self._numbers)
        except StopIteration:
            return
        worker = next((each for each in self._active if each >= self._next), self._active[0])
        self._next = worker + 1
        self._tasks.append(Task(worker, self._epoch, numbers))
        self._queues[worker].put(self._tasks[-1])

    def __next__(self) -> Any:
        while self._tasks:
            task = self._tasks[0]
            if not task.done.wait(self._timeout or None):
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
            self._tasks.popleft()
            if task.ended and task.worker not in self._active:
                continue
            if task.ended:
                self._active.remove(task.worker)
            self._put()
            if task.error is not None:
                _raise_again(*task.error, f"in DataLoader worker process {task.worker}")
            if not task.ended:
                return task.batch
        raise StopIteration


class KeyErrorText(str):
    """Text that a KeyError shows line by line: it shows the `repr` of what it is given."""

    __slots__ = ()
    __repr__ = str.__str__


def _raise_again(error: Exception, told: str, where: str) -> NoReturn:
    """Raises an error of a worker, of its class, with the worker's traceback in its text."""
    kind = type(error)
    text = f"Caught {kind.__name__} {where}.\nOriginal {told}"
    try:
        again = kind(KeyErrorText(text) if kind is KeyError else text)
    except Exception:  # a class that takes other arguments
        raise RuntimeError(text) from None
    raise again
