"""The training lab: arms that differ in one thing, runs that differ in the seed, and verdicts against the noise floor.

``corpus`` is what is read, ``arms`` what is compared, ``stack`` the model they describe, ``training`` one run,
``queue`` the order of runs and ``results`` what they left; ``statistics`` says what may be concluded and ``verdicts`` in
which words; ``summary`` keeps all of it in one file, of which ``report`` makes the tables that pages show. ``power`` tells
what so many seeds can find, ``speed`` is the quiet pass, ``reference`` the larger model that enters no verdict.
"""
