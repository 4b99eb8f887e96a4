"""Campaigns: a budget that survives crashes and crowds.

A campaign is a journal. Every ask, tell, cancel and expiry is one appended entry, and all else is a fold over them
(`ledger`). A process catches up from the journal inside a transaction, decides, appends and commits (`group`); what it
handed out is durable before the caller sees it. `store` finds campaigns in a database, `backend` says what a database
has to do, and `sql` does it for SQLite and PostgreSQL.
"""
