"""The evidence of claims, one module a page.

A proved claim stands on a property: a function that returns how far a random case is from what the claim says.
The test finds about zero every time; the control removes the claim's condition and finds clearly more.
"""
