"""Campaigns that a service keeps: the same stores and campaigns, over HTTP.

`connect` makes a store from an address. `transport` sends requests until they are answered, each with a key, so that a
lost answer costs nothing. `store` and `campaign` say by which requests the methods of a store and of a campaign are
performed, and `wire` how values become JSON and come back. `problems` makes the errors of this package from those of a
service.
"""
