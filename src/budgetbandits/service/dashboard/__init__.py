"""The dashboard: pages that show campaigns and what becomes of their money, served by the service itself.

`pages` has the routes, `templates` what they look like, `static` the few files that a browser loads. `formats` writes
numbers and times for people, and `forecast` says when the money ends. The pages are rendered here, numbers and all; in
the browser, a page that something has happened to is fetched again and taken over where it differs.
"""
