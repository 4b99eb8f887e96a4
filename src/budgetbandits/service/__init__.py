"""The service: campaigns over HTTP, for workers in other languages and on other machines.

One process owns a store, and the requests of all clients share its commits. `app` puts it together, `api` has the
routes by topic, `shapes` what goes in and out (and so the OpenAPI description), `problems` what is said when something
is wrong. A request comes through `gate`, which knows who asks and how much may come; `serving` runs it all.
"""
