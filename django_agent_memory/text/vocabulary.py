"""What is known of English words: which carry no meaning, and which forms no suffix rule reaches.

Words are folded, without apostrophes and accents. Other languages are found by their own words.
"""

from __future__ import annotations

# Function and question words, auxiliaries, what is left of contractions, and the small change of
# conversation. "may" is not among them: it is a month. Names that are stop words ("Will") are found
# by the subject of a note.
_STOP_WORDS = """
a an the this that these those such i me my mine myself we us our ours ourselves you your yours
yourself yourselves u he him his himself she her hers herself it its itself they them their theirs
themselves one ones someone somebody something anyone anybody anything everyone everybody
everything nobody nothing who whom whose which what when where why how whatever whenever wherever
whoever am is are was were be been being do does did doing done have has had having can could will
would shall should might must ought cannot and or but nor if then else so than as because while
though although until unless whether of at by for with about against between into through during
to from in on onto upon off within without toward towards per via up down out over under not no
yes yeah yep nope ok okay all any both each either neither every few more most some other others
another many much lot lots only own same too very just also even still already yet again ever
never here there now today im ive id ill youre youve youd youll hes shes theyre theyve weve were
theres thats whats lets dont doesnt didnt isnt arent wasnt werent hasnt havent hadnt cant couldnt
wont wouldnt shouldnt mustnt aint really well oh hey hi hello wow haha thanks etc eg ie
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

_FORMS = """
abide: abode  arise: arose arisen  awake: awoke awoken  beat: beaten  become: became
begin: began begun  bend: bent  bind: bound  bite: bitten  bleed: bled  blow: blew blown
break: broke broken  breed: bred  bring: brought  build: built  burn: burnt  buy: bought
catch: caught  choose: chose chosen  cling: clung  come: came  creep: crept  deal: dealt  dig: dug
draw: drew drawn  dream: dreamt  drink: drank drunk  drive: drove driven  eat: ate eaten
fall: fell fallen  feed: fed  feel: felt  fight: fought  find: found  flee: fled  fling: flung
fly: flew flown flies  forbid: forbade forbidden  foresee: foresaw foreseen
forget: forgot forgotten  forgive: forgave forgiven  freeze: froze frozen  get: got gotten
give: gave given  go: went gone goes  grow: grew grown  hang: hung  hear: heard  hide: hid hidden
hold: held  keep: kept  kneel: knelt  know: knew known  lay: laid  lead: led  lean: leant
leap: leapt  learn: learnt  leave: left  lend: lent  light: lit  lose: lost  make: made
mean: meant  meet: met  mistake: mistook mistaken  mow: mown  overcome: overcame  oversee: oversaw
pay: paid  prove: proven  rebuild: rebuilt  redo: redid redone  resell: resold  retell: retold
rethink: rethought  rewrite: rewrote rewritten  ride: rode ridden  ring: rang rung  rise: risen
run: ran  say: said  see: saw seen  seek: sought  sell: sold  send: sent  sew: sewn
shake: shook shaken  shave: shaven  shine: shone  shoot: shot  show: shown  shrink: shrank shrunk
sing: sang sung  sink: sank sunk  sit: sat  sleep: slept  slide: slid  sling: slung  smell: smelt
sow: sown  speak: spoke spoken  speed: sped  spell: spelt  spend: spent  spill: spilt  spin: spun
spit: spat  spoil: spoilt  spring: sprang sprung  stand: stood  steal: stole stolen  stick: stuck
sting: stung  stink: stank stunk  stride: strode  strike: struck stricken  string: strung
strive: strove striven  swear: swore sworn  sweep: swept  swell: swollen  swim: swam swum
swing: swung  take: took taken  teach: taught  tear: tore torn  tell: told  think: thought
throw: threw thrown  tread: trod trodden  undergo: underwent undergone
understand: understood  undertake: undertook undertaken  undo: undid undone
uphold: upheld  wake: woke woken  wear: wore worn  weave: wove woven  weep: wept  win: won
withdraw: withdrew withdrawn  withstand: withstood  wring: wrung  write: wrote written

child: children  foot: feet  goose: geese  half: halves  hoof: hooves  knife: knives  loaf: loaves
louse: lice  man: men  mouse: mice  ox: oxen  person: people  scarf: scarves  self: selves
shelf: shelves  thief: thieves  tooth: teeth  wife: wives  wolf: wolves  woman: women
calf: calves  elf: elves  analysis: analyses  appendix: appendices  axis: axes  bus: buses
cactus: cacti  crisis: crises  criterion: criteria  diagnosis: diagnoses  fungus: fungi
gas: gases  hypothesis: hypotheses  index: indices  matrix: matrices  phenomenon: phenomena
quiz: quizzes  synopsis: synopses  thesis: theses  vertex: vertices

cry: cries cried  die: dies died dying  dry: dries dried  fry: fries fried  lie: lies lied lying
ply: plies plied  pry: pries pried  shy: shied  sky: skies  spy: spies spied  tie: ties tied tying
try: tries tried

behavior: behaviour  catalog: catalogue  center: centre  color: colour  cozy: cosy
dialog: dialogue  donut: doughnut  favor: favour  favorite: favourite  flavor: flavour  gray: grey
harbor: harbour  honor: honour  humor: humour  jewelry: jewellery  judgment: judgement
labor: labour  license: licence  meter: metre  mom: mum  mommy: mummy  mustache: moustache
neighbor: neighbour  pajama: pyjama  parlor: parlour  practice: practise  program: programme
rumor: rumour  skeptic: sceptic  theater: theatre  tire: tyre  yogurt: yoghurt

january: jan  february: feb  april: apr  june: jun  july: jul  august: aug
september: sep sept  october: oct  november: nov  december: dec

2: two  3: three  4: four  5: five  6: six  7: seven  8: eight  9: nine  10: ten  11: eleven
12: twelve  13: thirteen  14: fourteen  15: fifteen  16: sixteen  17: seventeen  18: eighteen
19: nineteen  20: twenty  30: thirty  40: forty  50: fifty  60: sixty  70: seventy  80: eighty
90: ninety  100: hundred  1000: thousand
"""


def _by_form(table: str) -> dict[str, str]:
    """Read `base: form form` entries into a form → base mapping."""
    bases: dict[str, str] = {}
    base = ""
    for word in table.split():
        if word.endswith(":"):
            base = word[:-1]
        else:
            bases[word] = base
    return bases


# Left out are forms that are far more often another word ("a bit", "the rose", "the ground").
BASE_OF_IRREGULAR = _by_form(_FORMS)
