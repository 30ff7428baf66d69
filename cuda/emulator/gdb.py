"""gdb's helpers for a kernel that runs in the emulator: triad check --debug FILE loads them.

A block's threads run one after the other, each until it waits. Where gdb stops, one of them runs; the others
have their registers on their stacks. Nothing here calls a function of the program: gdb writes all registers
for that, and gdb 13 cannot where a processor has some that it does not know (AMX).
"""

import struct

import gdb

# Registers that cuemu_switch leaves on a stack, from its top on, and the return address behind them.
SAVED = ("r15", "r14", "r13", "r12", "rbx", "rbp")
WORD = gdb.lookup_type("unsigned long")


def index_of(name):
    """Of threadIdx or blockIdx; a program that names neither has no type for them."""
    return tuple(int(gdb.parse_and_eval(f"((unsigned *)&{name})[{axis}]")) for axis in range(3))


def parse_index(text):
    """Reads X, X,Y or X,Y,Z."""
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(p.strip().isdigit() for p in parts):
        raise gdb.GdbError(f"{text}: want X, X,Y or X,Y,Z")
    return tuple(int(p) for p in parts) + (0,) * (3 - len(parts))


def show(index):
    return "(" + ",".join(map(str, index)) + ")"


def read(address, form):
    """The numbers of a form of struct that lie at an address."""
    return struct.unpack(form, bytes(gdb.selected_inferior().read_memory(address, struct.calcsize(form))))


def write(address, form, *values):
    gdb.selected_inferior().write_memory(address, struct.pack(form, *values))


def address_of(name):
    return int(gdb.parse_and_eval(f"(unsigned long)&'{name}'"))


class Thread:
    """A thread of the block; place is the wait that it is in or has passed."""

    def __init__(self, number, index, state, place):
        self.number, self.index, self.warp = number, index, number // 32
        self.state, self.place = state, place


class Block:
    """The block that runs, as the emulator's Worker has it (scheduler.h)."""

    LAYOUT = (
        "in_block threads current warp warp_size fiber fiber_size sp wait line file live at_barrier "
        "in_collective in_activemask in_cluster in_async in_grid"
    ).split()
    WAITING = LAYOUT[LAYOUT.index("at_barrier") :]

    def __init__(self):
        try:
            self.at = read(address_of("cuemu::this_worker"), "Q")[0]
            words = read(address_of("cuemu_debug_layout"), f"{len(self.LAYOUT)}Q")
        except gdb.error:
            self.at = 0
        if self.at:
            self.layout = dict(zip(self.LAYOUT, words))
        if not self.at or not read(self.at + self.layout["in_block"], "?")[0]:
            raise gdb.GdbError("no kernel runs here: break in one first (cuda break KERNEL)")
        self.count, self.current = (read(self.at + self.layout[n], "I")[0] for n in ("threads", "current"))
        self.shape = index_of("blockDim")
        self.ready = address_of("cuemu_debug_ready")
        warps = range((self.count + 31) // 32)
        self.live = [self.mask(w, "live") for w in warps]
        self.waits = [[self.mask(w, name) for name in self.WAITING] for w in warps]

    def mask(self, warp, name):
        """The lanes of a warp of which something holds."""
        at = self.at + self.layout["warp"] + warp * self.layout["warp_size"] + self.layout[name]
        return read(at, "I")[0]

    def fiber(self, number):
        return self.at + self.layout["fiber"] + number * self.layout["fiber_size"]

    def index(self, number):
        x, y, _ = self.shape
        return (number % x, number // x % y, number // x // y)

    def thread(self, number):
        warp, bit = number // 32, 1 << number % 32
        wait = read(self.fiber(number) + self.layout["wait"], "Q")[0]
        if not self.live[warp] & bit:
            return Thread(number, self.index(number), "ended", "")
        if number == self.current:
            return Thread(number, self.index(number), "runs", "")
        if wait == self.ready:
            return Thread(number, self.index(number), "ready", "")
        waits = any(mask & bit for mask in self.waits[warp])
        return Thread(number, self.index(number), "waits" if waits else "can go on", self.place(wait))

    def place(self, wait):
        """FILE:LINE of a wait; "" without one."""
        if not wait:
            return ""
        line, file = read(wait + self.layout["line"], "i")[0], read(wait + self.layout["file"], "Q")[0]
        name = gdb.Value(file).cast(gdb.lookup_type("char").pointer()).string()
        return f"{name.rsplit('/', 1)[-1]}:{line}"

    def context(self, number):
        """Where cuemu_switch has left the registers of a thread; 0: it runs or has ended."""
        if number == self.current or not self.live[number // 32] >> number % 32 & 1:
            return 0
        return read(self.fiber(number) + self.layout["sp"], "Q")[0]

    def resume(self, number, kept):
        """Makes another thread the one that runs; the registers of this one are kept at an address."""
        write(self.fiber(self.current) + self.layout["sp"], "Q", kept)
        write(self.fiber(self.current) + self.layout["wait"], "Q", 0)
        write(self.at + self.layout["current"], "I", number)
        write(address_of("threadIdx"), "3I", *self.index(number))


def threads():
    block = Block()
    return [block.thread(number) for number in range(block.count)]


def thread_at(index):
    for t in threads():
        if t.index == index:
            return t
    raise gdb.GdbError(f"the block has no thread {show(index)}")


class Cuda(gdb.Command):
    """Commands for kernels: cuda break, cuda threads, cuda backtrace, cuda step."""

    def __init__(self):
        super().__init__("cuda", gdb.COMMAND_USER, prefix=True)


class Stop(gdb.Breakpoint):
    """A breakpoint for one block or one thread."""

    def __init__(self, location, wanted):
        super().__init__(location)
        self.wanted = wanted

    def stop(self):
        return all(index_of(variable) == index for variable, index in self.wanted.items())


class Break(gdb.Command):
    """cuda break LOCATION [block X[,Y[,Z]]] [thread X[,Y[,Z]]]: stops at a line or kernel, there alone."""

    def __init__(self):
        super().__init__("cuda break", gdb.COMMAND_BREAKPOINTS)

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        if not words or len(words) % 2 == 0 or not {"block", "thread"}.issuperset(words[1::2]):
            raise gdb.GdbError("want cuda break LOCATION [block X,Y,Z] [thread X,Y,Z]")
        Stop(words[0], {what + "Idx": parse_index(text) for what, text in zip(words[1::2], words[2::2])})


class Threads(gdb.Command):
    """cuda threads: where all threads of this block stand, those of one place together."""

    def __init__(self):
        super().__init__("cuda threads", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        self.show()

    @classmethod
    def show(cls, warp=None):
        groups = {}
        for t in threads():
            if warp is not None and t.warp != warp:
                continue
            key = (t.state, cls.place_of(t))
            groups.setdefault(key, []).append(t)
        print(f"block {show(index_of('blockIdx'))}, thread {show(index_of('threadIdx'))} runs")
        for (state, place), list_ in groups.items():
            first, last = list_[0], list_[-1]
            span = show(first.index) if first is last else f"{show(first.index)} to {show(last.index)}"
            at = f" at {place}" if place else ""
            print(f"  {len(list_):4} {state}{at}: {span}")

    @classmethod
    def place_of(cls, t):
        """Of one that gdb has stopped, from its registers; else the wait that it is in or has passed."""
        if t.state == "runs":
            return cls.here()
        if t.place or t.state != "can go on":
            return t.place
        line = gdb.find_pc_line(Registers.of(t).values["rip"])
        return f"{line.symtab.filename.rsplit('/', 1)[-1]}:{line.line}" if line.symtab else ""

    @staticmethod
    def here():
        frame = gdb.newest_frame()
        while frame is not None:
            line = frame.find_sal()
            if line.symtab is not None and not line.symtab.filename.startswith("cuda/emulator/"):
                return f"{line.symtab.filename.rsplit('/', 1)[-1]}:{line.line}"
            frame = frame.older()
        return ""


class Registers:
    """What a thread needs to go on from the start of a line: at -O0 its variables are in memory."""

    NAMES = ("rip", "rsp", *SAVED)

    def __init__(self):
        if "x86-64" not in gdb.selected_inferior().architecture().name():
            raise gdb.GdbError("stacks of other threads are read on x86-64 alone")
        self.values = {name: int(gdb.parse_and_eval("$" + name).cast(WORD)) for name in self.NAMES}

    @classmethod
    def of(cls, thread):
        """Of a thread that does not run; None: it has ended."""
        sp = Block().context(thread.number)
        if not sp:
            return None
        made = cls()
        words = read(sp, f"{len(SAVED) + 2}Q")
        made.values = dict(zip((*SAVED, "rip"), words))
        made.values["rsp"] = sp + 8 * (len(SAVED) + 1)
        if words[-2] == address_of("cuemu_debug_arrive"):
            made.values["rip"] = words[-1]
            made.values["rsp"] += 8
        return made

    def set(self):
        gdb.newest_frame().select()
        for name, value in self.values.items():
            gdb.execute(f"set ${name} = {value}", to_string=True)

    def keep(self):
        """Puts them on the thread's own stack, as cuemu_switch would; returns where."""
        words = [self.values[name] for name in SAVED]
        words += [address_of("cuemu_debug_arrive"), self.values["rip"]]
        sp = self.values["rsp"] - 8 * len(words)
        write(sp, f"{len(words)}Q", *words)
        return sp


class Backtrace(gdb.Command):
    """cuda backtrace X[,Y[,Z]]: the stack of a thread of this block that has stopped."""

    def __init__(self):
        super().__init__("cuda backtrace", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        t = thread_at(parse_index(argument.strip()))
        if t.state == "runs":
            return self.show()
        other = Registers.of(t)
        if other is None or t.state == "ready":
            raise gdb.GdbError(f"thread {show(t.index)} has no stack: {t.state}")
        kept = Registers()
        try:
            other.set()
            self.show()
        finally:
            kept.set()

    @staticmethod
    def show():
        """The kernel's own functions; what launched it has no part in it."""
        frame = gdb.newest_frame()
        while frame is not None and not str(frame.name()).startswith("operator()"):
            line = frame.find_sal()
            if line.symtab is not None and not line.symtab.filename.startswith("cuda/emulator/"):
                print(f"  {frame.name()} at {line.symtab.filename.rsplit('/', 1)[-1]}:{line.line}")
            frame = frame.older()


class Switch(gdb.Command):
    """cuda thread X[,Y[,Z]]: another thread of this block runs from here on, if it does not wait."""

    def __init__(self):
        super().__init__("cuda thread", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        t = thread_at(parse_index(argument.strip()))
        if t.state != "runs":
            self.to(t)
        gdb.execute("frame")

    @staticmethod
    def to(t):
        if t.state not in ("ready", "can go on"):
            raise gdb.GdbError(f"thread {show(t.index)} cannot run: it {t.state} {t.place}".rstrip())
        gdb.newest_frame().select()
        other = Registers.of(t)
        Block().resume(t.number, Registers().keep())
        other.set()


class Step(gdb.Command):
    """cuda step: the thread that runs goes to its next line, and the others of its warp go there as well.

    One that has to wait first stays where it waits; one that does not come by that line goes on to where it
    waits or ends.
    """

    def __init__(self):
        super().__init__("cuda step", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        first = self.running()
        gdb.execute("next", to_string=True)
        leader = self.running()
        if leader.warp != first.warp:
            return gdb.execute("frame")
        line = gdb.newest_frame().find_sal()
        place = f"{line.symtab.fullname()}:{line.line}"
        there = {leader.number}
        while True:
            behind = [t for t in threads() if t.warp == leader.warp and t.number not in there]
            behind = [t for t in behind if t.state in ("ready", "can go on")]
            if not behind:
                break
            there.add(behind[0].number)
            Switch.to(behind[0])
            stop = gdb.Breakpoint(place, internal=True, temporary=True)
            stop.silent = True
            gdb.execute("continue", to_string=True)
            if not gdb.selected_inferior().threads():
                return
            if stop.is_valid():
                stop.delete()
            there.add(self.running().number)
        now = thread_at(leader.index)
        if now.state == "can go on":
            Switch.to(now)
        Threads.show(warp=leader.warp)
        gdb.execute("frame")

    @staticmethod
    def running():
        return next(t for t in threads() if t.state == "runs")


class Told(gdb.Breakpoint):
    """Stops where the emulator has found something, and says what."""

    made = False

    def __init__(self):
        super().__init__("cuemu_debug_stop", internal=True)
        self.silent = True

    def stop(self):
        first = "rdi" if "x86-64" in gdb.selected_inferior().architecture().name() else "x0"
        print("triad: " + gdb.parse_and_eval(f"(char *)${first}").string().replace("; ", ";\n  "))
        return True


def watch_emulator(event):
    if "libemulator" in event.new_objfile.filename and not Told.made:
        Told.made = True
        Told()


gdb.events.new_objfile.connect(watch_emulator)
for command in (Cuda, Break, Threads, Backtrace, Switch, Step):
    command()
gdb.execute("set breakpoint pending on")
gdb.execute("set confirm off")
gdb.execute("set pagination off")
gdb.execute("set print thread-events off")
gdb.execute("set debuginfod enabled off")
