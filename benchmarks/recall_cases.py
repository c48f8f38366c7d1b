"""What five actors remember, and what is said to them later: which memory ought to come to mind.

Written without looking at how similarity is computed: a saying shares the matter with its memory, seldom its words.
"""

from __future__ import annotations

from typing import Final

ACTORS: Final = (
    (
        ("The mill burned down the night Edda turned seventeen.", "Can you smell smoke?"),
        ("Her brother Tam sailed for the whaling grounds and sent no letter.", "No post for you again, I am afraid."),
        ("She sold her mother's piano to pay the doctor.", "Somebody is playing a waltz upstairs."),
        ("The pastor refused to bury Jonas beside the others.", "They have opened the churchyard gate."),
        ("She keeps forty crowns sewn into the hem of her coat.", "We could leave tonight, if only we had money."),
        ("Old Berit taught her which mushrooms kill.", "I picked these in the wood; shall we fry them?"),
        ("She broke her wrist falling from the hayloft.", "Give me a hand with this trunk, will you?"),
        ("The schoolmaster caught her copying and struck her.", "You never learned to spell, did you?"),
    ),
    (
        ("Captain Roe ordered the boats to leave before the women were aboard.", "He has always been a brave officer."),
        ("The compass had been tampered with: a magnet lay under the glass.", "How did we get so far off course?"),
        ("He won a silver watch at cards from a man who then shot himself.", "What time do you make it?"),
        (
            "The cook hid a stowaway, a boy of nine, among the flour sacks.",
            "Somebody has been stealing biscuits at night.",
        ),
        ("He cannot swim, and nobody on board knows it.", "Jump! It is only a few yards to the shore."),
        ("His wife writes that the baby has her grandfather's ears.", "Are you a father, Mister Hale?"),
        ("The doctor drinks the medicinal brandy.", "My leg has gone black; fetch the surgeon."),
        ("They buried the second mate at sea in a sail with two stones.", "Why is one hammock empty?"),
    ),
    (
        (
            "Ilse passed her examination in chemistry with the highest mark.",
            "Which of you can tell what is in this bottle?",
        ),
        ("The landlord raised the rent twice in one winter.", "There is a gentleman at the door, about what you owe."),
        ("Viktor informed on his neighbours to the secret police.", "We can speak freely in front of Viktor."),
        ("She saw the mayor take an envelope from the builder.", "He is an honest man and serves the town."),
        ("A tram ran over her dog on the bridge.", "What a lovely puppy. Do you want to hold him?"),
        ("Her father taught her chess in the cellar during the raids.", "Your move."),
        ("She has a rash whenever she eats strawberries.", "I made you a fruit tart for your birthday."),
        ("Grandmother's recipe book is written in Yiddish.", "Nobody in this house can read those letters."),
    ),
    (
        ("The king promised him the northern castle, and gave it to his cousin.", "His Majesty always keeps his word."),
        ("He lost two fingers to frost on the pass.", "Play us something on the lute."),
        ("A fortune teller told him that he would die by water.", "The ferry leaves at dawn."),
        ("He let a wounded enemy go, because the man was no older than his son.", "Have you never shown mercy?"),
        ("The monk forged the will by candlelight.", "This is the old duke's own handwriting."),
        ("His squire was hanged for stealing a loaf.", "The boy only took some bread; what harm is there?"),
        ("He swore on his father's grave never to draw his sword in anger again.", "Defend yourself, coward!"),
        ("The queen's laughter reminds him of his dead sister.", "Her Highness seems in high spirits this evening."),
    ),
    (
        ("Marta's telescope showed a light where no star should be.", "Look up: what is that glow above the ridge?"),
        ("The committee cut her funding and kept her results.", "They have published a paper with your figures."),
        ("She walked home barefoot after the dance since her heels had snapped.", "New shoes? They suit you."),
        ("Leo proposed to her in the queue of a bakery, and she laughed at him.", "Leo is getting married in June."),
        ("The satellite fell into the sea after eleven minutes.", "It was your machine that failed, was it not?"),
        ("She takes a sleeping pill on every flight.", "Fasten your seat belt; we are about to take off."),
        ("Her password is the name of her first cat.", "Somebody has been reading your messages."),
        ("The janitor lets her into the laboratory on Sundays.", "The building is locked at weekends, Professor."),
    ),
)
"""For each actor, pairs of a memory and of something said later that ought to call it to mind."""
