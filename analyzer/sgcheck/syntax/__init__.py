"""Two readers of one source: guarded code to run (`translate`), and rules to show (`rules`, libcst)."""
