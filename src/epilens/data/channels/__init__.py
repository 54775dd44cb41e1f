"""Which channels of a recording are implanted contacts, and whether their signal can be trusted.

By name: `contacts` reads names, `name_matching` finds one contact under two names, `non_contacts`
recognises scalp electrodes and other inputs, `bids_channels` reads channels.tsv, and `user_choices`
applies what the user excludes or keeps.
By signal: `measures` computes what the others compare, `broken_contacts` excludes contacts,
`export_checks` notes traces of an export, and `suggestions` lists channels for a person to check.
"""
