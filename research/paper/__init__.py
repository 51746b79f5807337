"""The paper's experiments, one file per figure. Run them with ``noregret research reproduce``."""

FIGURES = ("fig1", "fig2", "fig3", "fig4", "fig5", "fig6", "errata")
MORE = ("discussion",)  # on a page of its own: docs/extensions.md
