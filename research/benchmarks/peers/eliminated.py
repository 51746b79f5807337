"""Known sums for a peer that takes inequalities only: the last input of an equality is left out and
follows from the others. Standard library only.
"""

from __future__ import annotations

from research.benchmarks.peers.setting import Parameter, Setting, Sum, Value


class Eliminated:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._known = {p.name: p for p in setting.parameters}
        self._follows = {each.names[-1]: each for each in setting.linear if each.is_equality}

    @property
    def free(self) -> list[Parameter]:
        """What is left to be chosen."""
        return [p for p in self._setting.parameters if p.name not in self._follows]

    def named(self, x: list[Value]) -> dict[str, Value]:
        named = self._setting.named(x)
        return {p.name: named[p.name] for p in self.free}

    def whole(self, params: dict[str, Value]) -> list[Value]:
        """With what follows from the others."""
        named = dict(params)
        for name, each in self._follows.items():
            terms = dict(each.coefficients)
            rest = sum(c * float(named[other]) for other, c in terms.items() if other != name)
            named[name] = (each.high - rest) / terms[name]
        return self._setting.native([named[p.name] for p in self._setting.parameters])

    def texts(self) -> list[str]:
        """The inequalities that can be broken, as 1.0 * a + 2.0 * b <= 3.0."""
        made = []
        for each in self._setting.linear:
            terms, low, high = self._reduced(each)
            text = " + ".join(f"{c!r} * {name}" for name, c in terms.items())
            ends = [
                (c * self._known[name].low, c * self._known[name].high) for name, c in terms.items()
            ]
            made += [f"{text} <= {high!r}"] if high < sum(map(max, ends)) else []
            made += [f"{text} >= {low!r}"] if low > sum(map(min, ends)) else []
        return made

    def _reduced(self, each: Sum) -> tuple[dict[str, float], float, float]:
        """A sum of the free inputs alone."""
        terms, low, high = dict(each.coefficients), each.low, each.high
        if each.is_equality:  # what is left for the last input must be in its range
            last = self._known[each.names[-1]]
            c = terms.pop(last.name)
            low, high = sorted([each.high - c * last.high, each.high - c * last.low])
            return terms, low, high
        for name, equality in self._follows.items():
            if name in terms:
                inner = dict(equality.coefficients)
                share = terms.pop(name) / inner.pop(name)
                low, high = low - share * equality.high, high - share * equality.high
                for other, factor in inner.items():
                    terms[other] = terms.get(other, 0.0) - share * factor
        return {name: c for name, c in terms.items() if c != 0}, low, high
