#!/usr/bin/env python3
"""open_once.py FOLDER THREADS [LIBRARIES] - opens a folder of CTranslate2 once, in the precision in which it is stored, with rapt in
the folder LIBRARIES or, without it, with CTranslate2. Prints the seconds that it took."""
import sys
import time


def opener(folder, threads, libraries):
    if libraries:
        from ours import Ours
        c = Ours(libraries).c
        return lambda: c.ours_translator_create(folder.encode(), 1, 1, 1, threads, False)
    import ctranslate2
    return lambda: ctranslate2.Translator(folder, device="cpu", inter_threads=1, intra_threads=threads)


def main():
    run = opener(sys.argv[1], int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None)
    start = time.perf_counter()
    opened = run()
    print(time.perf_counter() - start)
    assert opened


if __name__ == "__main__":
    main()
