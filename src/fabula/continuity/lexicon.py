"""General word lists of English that the detectors use; none is taken from a data set.

The lists are closed classes (numbers, days, sides, kin, titles) or the common members of everyday kinds of things. A word
that is missing costs recall, never a crash.
"""

# ruff: noqa: E501 - word lists are read as running text

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _in_order(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _groups(*lines: str) -> dict[str, str]:
    """Every word of a line, and the line's first word as its kind."""
    return {word: line.split()[0] for line in lines for word in line.split()}


COLOURS: Final = _words(
    "red blue green yellow black white brown grey gray purple violet orange pink silver golden gold crimson scarlet maroon "
    "navy turquoise teal beige tan ivory cream amber emerald indigo magenta lavender auburn blond blonde hazel khaki "
    "burgundy olive cobalt azure charcoal rust copper bronze ebony ginger raven turquoise lilac mauve"
)
SAME_COLOUR: Final = {
    "gray": "grey", "golden": "gold", "blonde": "blond", "crimson": "red", "scarlet": "red", "maroon": "red",
    "burgundy": "red", "navy": "blue", "azure": "blue", "cobalt": "blue", "indigo": "blue", "ivory": "white",
    "cream": "white", "ebony": "black", "raven": "black", "charcoal": "grey", "violet": "purple", "lilac": "purple",
    "lavender": "purple", "mauve": "purple", "emerald": "green", "olive": "green", "magenta": "pink", "khaki": "tan",
    "beige": "tan", "teal": "turquoise", "auburn": "red", "ginger": "red", "amber": "gold", "hazel": "brown",
}  # fmt: skip
MATERIALS: Final = _words(
    "wooden wood leather brass iron steel copper bronze silver gold golden tin pewter glass ceramic porcelain clay "
    "plastic rubber paper cardboard canvas cotton wool woollen woolen silk velvet linen denim stone marble granite brick "
    "concrete oak pine mahogany walnut cedar teak bamboo wicker ivory crystal aluminium aluminum titanium platinum cloth "
    "fur straw bone wax nylon suede tweed lace satin"
)
SAME_MATERIAL: Final = {
    "golden": "gold",
    "woollen": "wool",
    "woolen": "wool",
    "wood": "wooden",
    "aluminum": "aluminium",
}
SHADES: Final = _words("dark light pale bright deep dull faded vivid soft pure midnight jet snow pitch sky blood royal")
COLOURED: Final = ("-painted", "-coloured", "-colored", "-dyed", "-plated", "-bound", "-tinted", "-lacquered")
# What has another colour from one minute to the next.
FLEETING: Final = _words(
    "light lights lighting glow sky skies smoke water sea waves face cheeks skin cloud clouds screen screens sun fire "
    "flame flames flash beam leaf leaves dawn dusk haze mist fog snow shadow shadows lips knuckles lamp lamps signal display "
    "hour hours moment moments steam dust rain snow ocean horizon eyes noise text letters ink heat sunset sunrise sunlight "
    "moonlight streak streaks thread threads line lines shade shades hue hues tone tones color colour colors colours dot dots "
    "icon icons ones people men women man woman tie stuff tape mark marks flower flowers "
    "morning mornings evening evenings afternoon night nights day days air weather winter summer autumn spring storm season"
)
SIDES: Final = _words("left right")
SIDED: Final = _words(
    "arm arms hand hands leg legs foot eye eyes ear knee ankle wrist shoulder elbow hip thigh calf cheek temple thumb "
    "finger palm forearm side lung temple boot shoe glove sleeve pocket breast collarbone eyebrow brow heel toe shin "
    "hemisphere wing paw"
)
OPPOSITE_LEVEL: Final = {
    "upper": "up", "upstairs": "up", "attic": "up", "loft": "up", "roof": "up", "rooftop": "up", "upward": "up",
    "upwards": "up", "above": "up", "topmost": "up", "lower": "down", "downstairs": "down", "basement": "down",
    "cellar": "down", "underground": "down", "downward": "down", "downwards": "down", "below": "down", "beneath": "down",
    "vault": "down", "crypt": "down", "top": "up", "bottom": "down", "descending": "down",
}  # fmt: skip

TITLES: Final = _words(
    "mr mrs ms miss mx dr doctor prof professor sir lady lord madam dame captain capt lieutenant lt sergeant sgt corporal "
    "private major colonel col general gen admiral commander commodore ensign chief deputy sheriff officer detective "
    "inspector constable superintendent marshal agent judge justice senator governor mayor president chancellor minister "
    "ambassador king queen prince princess duke duchess count countess baron baroness earl emperor empress father sister "
    "brother mother reverend rev pastor bishop archbishop cardinal pope rabbi imam friar abbot nurse coach principal dean "
    "director elder master mistress uncle aunt grandma grandpa councillor councilman councilwoman secretary warden curator"
)
SAME_TITLE: Final = {
    "doctor": "dr", "professor": "prof", "capt": "captain", "lt": "lieutenant", "sgt": "sergeant", "col": "colonel",
    "gen": "general", "reverend": "rev", "miss": "ms", "mrs": "ms", "mx": "ms", "mr": "mr",
}  # fmt: skip
# Forms of address that go with any office.
CIVIL: Final = _words("mr mrs ms miss mx sir madam dr doctor prof professor lady lord dame")
KIN: Final = _groups(
    "child children daughter daughters son sons kid kids",
    "sibling siblings sister sisters brother brothers twin twins half-brother half-sister",
    "spouse wife husband",
    "mother mom mum mama mam",
    "father dad papa daddy",
    "parent parents",
    "grandmother grandma nana granny",
    "grandfather grandpa",
    "grandparent grandparents",
    "grandchild grandchildren granddaughter grandson",
    "uncle uncles",
    "aunt aunts auntie",
    "cousin cousins",
    "nephew nephews",
    "niece nieces",
    "fiance fiancé fiancée fiancee",
)
# What a person can be to another, besides kin: one at a time, more often than not.
ROLES: Final = _words(
    "editor boss assistant lawyer attorney agent manager producer partner doctor therapist landlord landlady neighbour "
    "neighbor tutor mentor secretary accountant roommate butler driver maid cook nurse teacher coach dog cat horse pony "
    "parrot puppy kitten hound stallion mare author writer playwright composer captain pilot director"
)

# Kinds of things: two words of one kind may stand for one thing.
KINDS: Final = _groups(
    "bag bags briefcase backpack rucksack suitcase satchel purse handbag knapsack duffel tote holdall valise case trunk",
    "phone telephone smartphone cellphone pager handset flip-phone mobile payphone landline",
    "vehicle car truck jeep van sedan suv pickup motorcycle motorbike bike bicycle scooter taxi cab limousine limo "
    "coupe convertible wagon carriage minivan hatchback ambulance bus",
    "boat ship yacht ferry trawler sailboat canoe kayak schooner dinghy vessel rowboat barge",
    "dog labrador retriever terrier poodle spaniel collie shepherd beagle bulldog dachshund mastiff greyhound husky "
    "hound mutt dalmatian rottweiler corgi puppy",
    "cat tabby siamese kitten calico persian tomcat",
    "horse mare stallion pony gelding colt filly",
    "notebook notepad pad journal diary logbook ledger notebooks",
    "gun pistol revolver rifle shotgun handgun musket carbine",
    "blade knife dagger sword sabre rapier machete scalpel",
    "drink tea coffee cocoa ale beer wine whiskey whisky water milk juice brandy rum gin vodka lemonade champagne cider "
    "drinks espresso latte bourbon tequila",
    "instrument piano violin guitar cello flute trumpet harp organ saxophone clarinet fiddle accordion banjo",
    "dwelling house apartment flat cottage cabin mansion bungalow condo penthouse villa farmhouse",
    "headgear hat cap beret helmet bonnet fedora hood beanie",
    "coat jacket cloak blazer parka cardigan raincoat overcoat hoodie",
    "eyewear glasses spectacles monocle goggles contacts eyeglasses",
    "jewel ring necklace bracelet locket brooch pendant earring earrings amulet",
    "fastening padlock lock key keys keypad bolt latch deadbolt keycard",
    "lamp lantern candle torch flashlight chandelier headlamp",
    "document letter telegram email postcard note memo fax",
    "footwear boots shoes sandals slippers sneakers heels trainers loafers",
    "smoke cigarette cigar pipe cigarettes",
    "tree oak elm maple pine birch willow cedar ash beech",
    "flower rose lily tulip daisy orchid roses lilies tulips daisies orchids",
    "watch wristwatch pocketwatch stopwatch clock",
    "camera camcorder",
    "computer laptop desktop tablet typewriter",
)
HOT: Final = _words("tea coffee cocoa espresso latte")

CAUSES: Final = _groups(
    "fall fell falling ladder stairs staircase slipped tripped tumbled",
    "crash accident collision car motorcycle truck driver",
    "fire burned burnt blaze explosion burns",
    "fight stabbed shot punched knife bullet attacked attack",
    "illness cancer stroke heart fever pneumonia tumour tumor disease",
    "drowning drowned sea shipwreck",
    "sport football skiing climbing riding horse",
)
INJURY: Final = _words(
    "arm leg hand cast limp scar injury injured wound wounded hurt broke broken fracture fractured shoulder knee ankle "
    "wrist rib died death killed dead passed"
)
BROKEN: Final = _words(
    "broken out-of-order dead shattered smashed destroyed ruined burned burnt wrecked cracked disabled useless defunct "
    "jammed empty sold lost stolen missing demolished sealed extinguished"
)
REPAIR: Final = _words(
    "repair repaired repairs fix fixed fixing replaced replacement mended mend restored rebuilt new another recovered "
    "found refilled bought spare technician mechanic unsealed"
)
STATE_PAIRS: Final = {
    "locked": "unlocked", "open": "closed", "alive": "dead", "married": "single", "full": "empty", "sealed": "opened",
    "working": "broken", "lit": "dark", "blind": "sighted", "divorced": "married", "widowed": "married",
    "high": "low", "deaf": "hearing", "sober": "drunk", "intact": "broken", "public": "private", "vacant": "occupied",
}  # fmt: skip

NUMBERS_BELOW_20: Final = _in_order(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
TENS: Final = _in_order("twenty thirty forty fifty sixty seventy eighty ninety")
ORDINALS_BELOW_20: Final = _in_order(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth"
)
# What is joined to a number ("a forty-page book").
JOINED_TO_NUMBERS: Final = _words(
    "year day hour minute week month mile foot story storey man person member car bed page"
)
NUMBER_UNITS: Final = _words(
    "second seconds minute minutes hour hours day days night nights week weeks fortnight month months year years decade "
    "decades century centuries"
)
MONEY_UNITS: Final = _words(
    "dollar dollars pound pounds euro euros credit credits coin coins cent cents franc francs yen bucks"
)
# Heads whose number changes with every mention.
LOOSE_HEADS: Final = _words(
    "time times step steps pace paces man men woman women people person persons figure figures hand hands finger fingers "
    "foot feet inch inches mile miles yard yards metre metres meter meters kilometer kilometers kilometre kilometres word "
    "words thing things way ways side sides pair pairs moment moments eye eyes voice voices part parts piece pieces other "
    "others set sets percent degree degrees block blocks point points more less shot shots breath breaths beat beats one ones "
    "knock knocks blow blows line lines page pages name names face faces half halves row rows turn turns leg legs arm arms "
    "knot knots chance chances option options choice choices question questions thousand hundred million dozen rest kind "
    "kinds round rounds pound pounds sentence sentences paragraph paragraphs cup cups drop drops bottle bottles glass glasses"
)
MONTHS: Final = _in_order("january february march april may june july august september october november december")
WEEKDAYS: Final = _in_order("monday tuesday wednesday thursday friday saturday sunday")
SEASONS: Final = _words("spring summer autumn fall winter")
BUILT: Final = _words(
    "built founded established born died opened constructed erected created written painted killed discovered married "
    "invented closed launched started began graduated bought moved arrived signed installed published carved commissioned"
)
AUTHORED: Final = _words(
    "written painted composed directed built designed founded invented carved produced drawn illustrated commissioned "
    "discovered owned sculpted edited translated"
)
DIED: Final = _words(
    "died dead killed murdered deceased drowned buried perished executed slain late passed funeral grave"
)
LIVES: Final = _words(
    "said says asked asks replied smiled smiles laughed laughs nodded nods walked walks stood stands turned turns shouted "
    "whispered grinned sat sits ran runs entered enters arrived arrives looked looks shrugged waved called calls answered"
)
RECALLED: Final = _words(
    "remember remembered remembers memory memories ghost dream dreamed dreamt photograph photo portrait once had recalled "
    "used recording letter diary voice echo spirit would flashback imagined hologram grave late ago before"
)
POSSESSED: Final = _words(
    "carries carrying carried holds holding held wears wearing wore has had owns owned pulls pulled takes took gripping "
    "grips gripped clutching clutched keeps kept drives drove driving enters entering sets set opens opened uses using used "
    "brought brings packed picks picked"
)

# Words near the later passage that may explain a change: shown to the verifier, never decided upon.
CHANGE_CUES: Final = _words(
    "moved move changed changing change became becomes repainted painted switched swapped replaced replacing another new "
    "instead anymore longer now reconsidered reconsidering promoted married divorced renamed dyed sold bought traded "
    "corrected correction added demoted actually mistaken wrong lied lying lie pretended renovated turned increased reduced grown since "
    "second different later postponed rescheduled described supposedly allegedly other others"
)
# Those of them that say outright that something was made other than it was.
MADE_OTHER: Final = _words(
    "repainted painted swapped replaced replacing reconsidered promoted demoted renamed dyed increased reduced corrected "
    "added mistaken wrong lied renovated"
)
REPORT_CUES: Final = _words(
    "said says claimed claims told reported rumour rumor rumors supposedly allegedly apparently thought believed assumed "
    "according heard dreamed imagined pretended insisted swore lied joked"
)
SECOND_CUES: Final = _words("another second other different spare extra twin identical next third new")

# Words near a limb that say that it is hurt or marked.
HURT: Final = _words(
    "limp limps limped cast scar scarred injury injured wound wounded broke broken fracture fractured missing lost "
    "blind prosthetic bandage bandaged sling amputated tattoo tattooed deaf patch drags dragging stiff lame signed "
    "splint crushed burned burnt sprained dislocated paralysed paralyzed withered bad cut bullet stitches"
)
# Words that say that the spelling itself is spoken of, or that another bearer of the name is.
SPELLING: Final = _words(
    "misspelt misspelled mispronounced misread spelt spelled spelling pronounced wrongly mistakenly mistake typo "
    "relation namesake stranger nickname nicknamed"
)
# What is numbered ("Act Four").
NUMBERED: Final = _words("act scene chapter part volume room floor level section gate platform unit apartment bay")
# Things that cannot be taken for each other, unlike a note and a letter.
DISTINCT: Final = _words(
    "car truck motorcycle bicycle bus ambulance violin piano guitar cello flute trumpet labrador poodle greyhound "
    "husky beagle tea coffee wine beer milk lemonade knife sword pistol rifle canoe yacht ferry rose lily tulip "
    "orchid oak pine birch willow ring necklace bracelet helmet beret briefcase backpack suitcase purse lantern "
    "candle typewriter laptop cigar cigarette boots sandals slippers"
)
# Words before a thing that do not say what it is.
PLAIN: Final = _words("old new small large big little worn long short dark light other same heavy empty first last")

FUNCTION: Final = _words(
    "a an the this that these those my your his her its our their some any no every each all both either neither much many "
    "few more most several such what which who whom whose and or but nor so yet for of in on at by to from with without "
    "into onto upon over under between among through across against about after before during until till while as than "
    "then when where why how if because though although unless since i you he she it we they me him us them mine yours hers "
    "ours theirs myself yourself himself herself itself themselves is am are was were be been being do does did done doing "
    "have has had having will would shall should can could may might must not n't never ever only just very too also even "
    "still again already there here out up down off away back around near beside behind below above inside outside along "
    "toward towards past like except per via is isn't wasn't weren't aren't it's he's she's that's there's i'm you're we're "
    "they're i've you've we've they've i'd you'd he'd she'd we'd they'd i'll you'll he'll she'll we'll they'll don't doesn't "
    "didn't won't wouldn't can't couldn't shouldn't let's yes oh well okay now once perhaps maybe almost nearly quite rather "
    "together apart forward forwards backward backwards ahead alone later ago everywhere somewhere nowhere anywhere home "
    "today tomorrow tonight yesterday always often sometimes soon suddenly slowly quickly finally"
)
DETERMINERS: Final = _words("the this that these those my your his her its our their")
POSSESSIVES: Final = _words("my your his her its our their")
INDEFINITE: Final = _words("a an another some one any every each")
# Capitalised, but no name of a person.
NOT_NAMES: Final = (
    frozenset(MONTHS) | frozenset(WEEKDAYS) | SEASONS | FUNCTION
    | _words("god lord sir madam earth sun moon english french german spanish chinese american british european christmas "
             "easter int ext day night morning evening continuous later fade cut scene act chapter part act street road "
             "avenue lane ok okay yes no hey hello please thank thanks sorry good great fine wait look listen come mom dad "
             "mama papa mother father north south east west bible latin italian russian japanese african asian god's")
)  # fmt: skip
