"""Exhibits of the lab: what the summary holds, arm by arm; an arm that has not finished says so.

They read the lab's standard-library part alone (arms, questions, summary, report, power): nothing is trained or tested here.
"""
