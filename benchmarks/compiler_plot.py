"""The plot of `benchmarks/compiler.py scaling --plot`; needs matplotlib."""

# pyright: basic

from compiler_scaling import FITTED_SECONDS, GOAL, Curve
from matplotlib import pyplot as plt  # pyright: ignore[reportMissingImports]


def draw(curves: dict[str, Curve], path: str) -> None:
    """Writes a PNG of the exponents, and of CPU time and memory of a part over the size: level lines are linear."""
    figure, axes = plt.subplots(1, 3, figsize=(14, 8), layout="constrained", width_ratios=[1.4, 1, 1])
    names = list(curves)
    for offset, name in enumerate(("time", "memory")):
        values = [curves[shape].exponents[name] or 0.0 for shape in names]
        axes[0].barh([i + 0.4 * offset for i in range(len(names))], values, 0.4, label=f"exponent of {name}")
    axes[0].set(
        yticks=[i + 0.2 for i in range(len(names))], yticklabels=names, xlim=(0.5, 1.25), ylim=(len(names), -0.6)
    )
    axes[0].axvline(GOAL, color="black", linestyle="--", label=f"{GOAL}")
    axes[0].axvline(1, color="black", linewidth=0.8)
    axes[0].legend(loc="lower center", bbox_to_anchor=(0.3, 1.0), ncols=3, frameon=False)
    for axis, title, of in (
        (axes[1], "CPU time of a part (ms)", lambda p: 1e3 * p.seconds / p.size),
        (axes[2], "memory of a part (KiB)", lambda p: 1024 * p.memory / p.size),
    ):
        for curve in curves.values():
            fitted = [p for p in curve.points if p.seconds >= FITTED_SECONDS]
            axis.loglog([p.size for p in fitted], [of(p) for p in fitted], "o-", markersize=3, linewidth=1)
        axis.set(title=title, xlabel="parts")
        axis.grid(which="both", alpha=0.3)
    figure.savefig(path, dpi=100)
