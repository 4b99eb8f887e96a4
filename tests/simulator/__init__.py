"""A simulator of all that can happen to campaigns, below SQL; every run follows from its seed.

Three clients use a store, each with a clock of its own that is set forwards and back. They ask, tell, cancel, renew,
settle, correct and close, repeat what they do not know the outcome of, come late, and use old keys. Meanwhile

- processes are killed at any step of a transaction, before they read an answer, or stop for a minute;
- the power fails: what was not synced is lost, torn or kept, file by file and sector by sector;
- reads, writes and syncs fail, and the disk is full;
- connections to a server break before and after each statement and commit, and the server crashes;
- an older copy is put in place of the store, or written into it, while clients have it open;
- the file gets a second name, is renamed, or loses its log.

Beside it stands a model of money that knows no policy and no database (`simulator.model`), and a witness who compares
it with every answer and with every row of the journal (`simulator.witness`). To add an operation, see
`simulator.operations`; to add a fault, `simulator.sqlite` or `simulator.postgresql`.

What is deterministic: with SQLite everything. One client runs at a time, and gives the turn back at steps of the disk;
the package starts no threads, its waiting takes no time, and the clock is the simulator's. The same seed gives the same
run, step by step. With PostgreSQL the clients' steps and faults are, but not what goes on in the server: a run may
differ in what a server does with a connection that broke, and in which request had to wait for a lock.

What it does not try: several threads of one process that share a commit, and real processes. See `test_group` and
`test_crowds`.

A long run, which prints what it tried, and one world of it again:

    make simulate OPERATIONS=1000000
    cd tests && ../.venv/bin/python -m simulator --kind log --seed 17 --operations 2000
"""
