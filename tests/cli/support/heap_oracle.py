"""What a heap trace says, worked out in the plainest way: everything is kept, and asked again from the start.

Events are those of mlyze_writer. Shares nothing with the library.
"""

import collections
import dataclasses
import random

START = 1_700_000_000_000_000


@dataclasses.dataclass
class Block:
    address: int
    size: int
    stack: int
    thread: int
    born: int
    number: int  # of the event
    order: int  # among the allocations of its thread
    died: int = None
    died_number: int = None
    others: int = None  # allocations of its thread while it lived


class Heap:
    """All blocks of a trace, and totals. UNTIL is the number of events that are looked at."""

    def __init__(self, events, start=START, until=None):
        self.events = events[:until]
        self.start = start
        self.blocks = []
        self.frees = self.unmatched = self.implicit = 0
        self.end = self.events[-1][1] if self.events else start
        self.levels = []  # live bytes and blocks after each event
        made = collections.Counter()
        live = {}
        total = count = 0

        def close(address, event, number):
            nonlocal total, count
            block = live.pop(address)
            block.died, block.died_number = event[1], number
            block.others = made[block.thread] - block.order
            total -= block.size
            count -= 1

        for number, event in enumerate(self.events):
            if event[0] == "alloc":
                _, time, address, size, stack, thread = event
                if address in live:
                    self.implicit += 1
                    close(address, event, number)
                made[thread] += 1
                live[address] = Block(address, size, stack, thread, time, number, made[thread])
                self.blocks.append(live[address])
                total += size
                count += 1
            elif event[0] == "free":
                self.frees += 1
                if event[2] in live:
                    close(event[2], event, number)
                else:
                    self.unmatched += 1
            self.levels.append((total, count))
        self.live = list(live.values())

    def peak(self):
        """(bytes, time, number of the event): the first moment of the maximum."""
        best = (0, self.start, -1)
        for number, (level, _) in enumerate(self.levels):
            if level > best[0]:
                best = (level, self.events[number][1], number)
        return best

    def live_after(self, number):
        return [b for b in self.blocks if b.number <= number and (b.died_number is None or b.died_number > number)]

    def summary(self):
        peak = self.peak()
        return {
            "peak_bytes": peak[0],
            "peak_time_us": peak[1],
            "allocated_bytes": sum(b.size for b in self.blocks),
            "allocations": len(self.blocks),
            "frees": self.frees,
            "leaked_bytes": sum(b.size for b in self.live),
            "leaked_allocations": len(self.live),
            "unmatched_frees": self.unmatched,
            "implicit_frees": self.implicit,
            "events": len(self.events),
            "duration_us": self.end - self.start,
        }

    def leaks(self, min_age=0):
        return [b for b in self.live if self.end - b.born >= min_age]

    def temporary(self, others=0):
        return [b for b in self.blocks if b.died is not None and b.others <= others]

    def timeline(self, points):
        """{start: (peak, live at the end, allocated, allocations)} in stretches of the least power of two that fits."""
        width = 1
        while (self.end - self.start) // width >= points:
            width *= 2
        last = (self.end - self.start) // width
        rows, level, at = {}, 0, 0
        for i in range(last + 1):
            start = self.start + i * width
            peak, size, count = level, 0, 0
            while at < len(self.events) and self.events[at][1] < start + width:
                event = self.events[at]
                level = self.levels[at][0]
                peak = max(peak, level)
                if event[0] == "alloc":
                    size += event[3]
                    count += 1
                at += 1
            rows[start] = (peak, level, size, count)
        return width, rows


def sums(blocks, key=lambda block: block.stack):
    """{key: (bytes, blocks)}"""
    out = {}
    for block in blocks:
        size, count = out.get(key(block), (0, 0))
        out[key(block)] = (size + block.size, count + 1)
    return out


def index_at(events, time):
    """How many events are not later than TIME."""
    return sum(event[1] <= time for event in events)


def random_events(seed, count=2000, stacks=12, threads=3, addresses=40, odd=True, start=START):
    """Allocations and frees, some of them odd: freed twice, allocated twice, of size 0."""
    rnd = random.Random(seed)
    time, live, events = start, [], []
    for _ in range(count):
        time += rnd.choice((0, 0, 0, 1, 2, 7, 50, rnd.randrange(3000)))
        choice = rnd.random()
        if choice < 0.01:
            events.append(("marker", time, rnd.randrange(3)))
        elif choice < 0.02:
            events.append(("gc", time, rnd.randrange(50), rnd.randrange(5000)))
        elif choice < 0.55:
            address = 0x7F0000000000 + 16 * rnd.randrange(addresses)
            if address in live and not odd:
                continue
            size = rnd.choice((0, 1, 16, 100, 4096, rnd.randrange(1, 100000)))
            events.append(("alloc", time, address, size, rnd.randrange(stacks), rnd.randrange(threads)))
            live.append(address)
        elif live and (choice < 0.97 or not odd):
            address = live.pop(rnd.choice((-1, rnd.randrange(len(live)))))
            live = [one for one in live if one != address]
            events.append(("free", time, address))
        elif odd:
            events.append(("free", time, 0x7F0000000000 + 16 * rnd.randrange(addresses * 2)))
            live = [one for one in live if one != events[-1][2]]
    return events
