"""`python -m sgcheck`."""

from sgcheck.cli import main

if __name__ == "__main__":
    main()
