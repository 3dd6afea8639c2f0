"""Reports on a benchmark: rows in, the paper's tables and figures out, ours beside the published ones.

In:  a run folder, which `millet.benchmark` wrote; published results where the user has them.
Out: Markdown, plain text and PNG files. Nothing here needs the networks.
"""

from millet.report.complexity import plot_multiplications
from millet.report.critical_difference import plot_critical_difference
from millet.report.document import Report, write_report
from millet.report.figures import plot_bins, plot_deviations, plot_head_to_head, plot_trade_off
from millet.report.gains import plot_gains
from millet.report.paper import PaperTable, paper_table, paper_tables
from millet.report.published import Published
from millet.report.reproduction import read_results, write_reproduction
from millet.report.rows import Run, read_run

__all__ = [
    "PaperTable",
    "Published",
    "Report",
    "Run",
    "paper_table",
    "paper_tables",
    "plot_bins",
    "plot_critical_difference",
    "plot_deviations",
    "plot_gains",
    "plot_head_to_head",
    "plot_multiplications",
    "plot_trade_off",
    "read_results",
    "read_run",
    "write_report",
    "write_reproduction",
]
