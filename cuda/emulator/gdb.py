"""gdb's helpers for a kernel that runs in the emulator: triad check --debug FILE loads them.

A block's threads run one after the other, each until it waits. Where gdb stops, one of them runs; the others have their
registers on their stacks.
"""

import gdb

# Registers that cuemu_switch leaves on a stack, from its top on, and the return address behind them.
SAVED = ("r15", "r14", "r13", "r12", "rbx", "rbp")
WORD = gdb.lookup_type("unsigned long")


def call(name, kind, *args):
    """Calls a function of the emulator, which has no debug information."""
    kinds = ", ".join(["unsigned long"] * len(args)) or "void"
    return gdb.parse_and_eval(f"(({kind} (*)({kinds})){name})({', '.join(map(str, args))})")


def index_of(name):
    at = gdb.parse_and_eval(name)
    return tuple(int(at[axis]) for axis in "xyz")


def parse_index(text):
    """Reads X, X,Y or X,Y,Z."""
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(p.strip().isdigit() for p in parts):
        raise gdb.GdbError(f"{text}: want X, X,Y or X,Y,Z")
    return tuple(int(p) for p in parts) + (0,) * (3 - len(parts))


def show(index):
    return "(" + ",".join(map(str, index)) + ")"


class Thread:
    """One line of cuemu_debug_threads."""

    def __init__(self, number, line):
        fields = line.split("\t")
        self.number = number
        self.index = tuple(map(int, fields[0].split()))
        self.warp, self.state = int(fields[1]), fields[2]
        self.place = f"{fields[4].rsplit('/', 1)[-1]}:{fields[3]}" if len(fields) > 4 else ""


def threads():
    text = call("cuemu_debug_threads", "char *").string()
    if not text:
        raise gdb.GdbError("no kernel runs here: break in one first (cuda break KERNEL)")
    return [Thread(i, line) for i, line in enumerate(text.splitlines())]


def thread_at(index):
    for t in threads():
        if t.index == index:
            return t
    raise gdb.GdbError(f"the block has no thread {show(index)}")


class Cuda(gdb.Command):
    """Commands for kernels: cuda break, cuda threads, cuda backtrace, cuda step."""

    def __init__(self):
        super().__init__("cuda", gdb.COMMAND_USER, prefix=True)


class Break(gdb.Command):
    """cuda break LOCATION [block X[,Y[,Z]]] [thread X[,Y[,Z]]]: stops at a line or kernel, in one block or thread."""

    def __init__(self):
        super().__init__("cuda break", gdb.COMMAND_BREAKPOINTS)

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        if not words or len(words) % 2 == 0:
            raise gdb.GdbError("want cuda break LOCATION [block X,Y,Z] [thread X,Y,Z]")
        conditions = []
        for what, text in zip(words[1::2], words[2::2]):
            variable = {"block": "blockIdx", "thread": "threadIdx"}.get(what)
            if variable is None:
                raise gdb.GdbError(f"{what}: want block or thread")
            for axis, value in zip("xyz", parse_index(text)):
                conditions.append(f"{variable}.{axis} == {value}")
        at = gdb.Breakpoint(words[0])
        if conditions:
            at.condition = " && ".join(conditions)


class Threads(gdb.Command):
    """cuda threads: where all threads of this block stand, those of one place together."""

    def __init__(self):
        super().__init__("cuda threads", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        groups = {}
        for t in threads():
            key = (t.state, self.here() if t.state == "runs" else t.place)
            groups.setdefault(key, []).append(t)
        print(f"block {show(index_of('blockIdx'))}, thread {show(index_of('threadIdx'))} runs")
        for (state, place), list_ in groups.items():
            first, last = list_[0], list_[-1]
            span = show(first.index) if first is last else f"{show(first.index)} to {show(last.index)}"
            at = f" at {place}" if place else ""
            print(f"  {len(list_):4} {state}{at}: {span}")

    @staticmethod
    def here():
        frame = gdb.newest_frame()
        while frame is not None:
            line = frame.find_sal()
            if line.symtab is not None and "cuda/emulator/" not in line.symtab.filename:
                return f"{line.symtab.filename.rsplit('/', 1)[-1]}:{line.line}"
            frame = frame.older()
        return ""


class Registers:
    """What a thread needs to go on from the start of a line: at -O0 its variables are in memory."""

    NAMES = ("rip", "rsp", *SAVED)

    def __init__(self):
        self.values = {name: int(gdb.parse_and_eval("$" + name).cast(WORD)) for name in self.NAMES}

    @classmethod
    def of(cls, thread):
        """Of a thread that waits or can go on; None: it has no stack yet, or has ended."""
        sp = int(call("cuemu_debug_context", "unsigned long", thread.number))
        if not sp:
            return None
        made = cls()
        words = [int(gdb.parse_and_eval(f"*(unsigned long *){sp + 8 * i}")) for i in range(len(SAVED) + 1)]
        made.values = dict(zip((*SAVED, "rip"), words))
        made.values["rsp"] = sp + 8 * (len(SAVED) + 1)
        return made

    def set(self):
        gdb.newest_frame().select()
        for name, value in self.values.items():
            gdb.execute(f"set ${name} = {value}", to_string=True)


class Backtrace(gdb.Command):
    """cuda backtrace X[,Y[,Z]]: the stack of a thread of this block that has stopped."""

    def __init__(self):
        super().__init__("cuda backtrace", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        t = thread_at(parse_index(argument.strip()))
        if t.state == "runs":
            return gdb.execute("backtrace")
        other = Registers.of(t)
        if other is None:
            raise gdb.GdbError(f"thread {show(t.index)} has no stack: {t.state}")
        kept = Registers()
        try:
            other.set()
            gdb.execute("backtrace")
        finally:
            kept.set()


class Told(gdb.Breakpoint):
    """Stops where the emulator has found something, and says what."""

    def __init__(self):
        super().__init__("cuemu_debug_stop", internal=True)
        self.silent = True

    def stop(self):
        print("triad: " + gdb.parse_and_eval("(char *)$rdi").string())
        return True


Cuda()
Break()
Threads()
Backtrace()
gdb.execute("set breakpoint pending on")
gdb.execute("set confirm off")
gdb.execute("set pagination off")
gdb.execute("set print thread-events off")
gdb.execute("set debuginfod enabled off")
Told()
