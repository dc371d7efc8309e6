"""The rules: which moves are legal, what a move does, how a game starts. Compiled; one path for all games.

===============  ===========================================================================
``building``     which cards fit on a card, which fill a space, and how many move together
``foundations``  which cards go home and come back
``moves``        what an action does to the cards: draw, redeal, home, cell, pile, space, back
``legal``        the legal-action mask: which entries are written after a change of the cards
``whole_mask``   what that mask must equal: every entry from the cards alone, in plain Python
``derive``       all that follows from the position rows
``deal``         the position that a shuffled pack is dealt to (:mod:`~solitaire_env.core.shuffle`)
``step``         a step: an action, then the mask and the status
``state``        the arrays that all of these read and write
===============  ===========================================================================

A game is a row of each array of ``State``. ``rows`` is the position; the rest follows from it and is kept so
that a step needs to look only at the places that it changes. In this position of Forty Thieves (pairs of
piles, waste; the stock has a card)::

    t1: KS 9H    t2: TH    t3: (space)    waste: 8H    foundations: Hearts up to the 7

    tops       9H TH -- 8H           the playable card of each source: t1, t2, t3, waste
    heights    2 1 0                 cards in each pile
    runs       1 1 0                 cards at the end of each pile that may move together
    carriable  1 1 0 1               how many of these may be carried to a pile; one for other sources
    given      9H TH -- 8H           the cards that may move from each source to a pile
    taken      8H 9H --              the cards that each pile takes
    next_home  8H                    the cards that the foundations take
    mask       draw, w>f, t1>t2, w>t1, t1>s, w>s    a card that is given and taken makes a legal move

It knows no strings, objects, rewards, limits or observations. The numbers of actions and the places in a row
are those of :mod:`solitaire_env.core.layout`.
"""
