"""The word lists of the tokenizer.

They follow what the training documents of the English Web Treebank do; entries that it does not attest follow
the guidelines of the same family of treebanks (Penn Treebank, OntoNotes).
"""

from __future__ import annotations


def _words(table: str) -> frozenset[str]:
    return frozenset(table.split())


# A full stop right after one of these belongs to the word, unless the sentence ends there. Case counts.
ABBREVIATIONS = _words("""
    Mr Mrs Ms Dr Drs Prof Rev Fr Hon Gen Lt Col Sgt Capt Cmdr Maj Adm Gov Sen Rep Reps Pres Supt Det Jr Sr
    Esq St Sts Ste Ave Blvd Rd Hwy Pkwy Ft Mt Inc Corp Co Ltd INC CORP LTD PVT Bros Dept Univ Assn Assoc
    Intl Natl Govt Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed Thu Thur Thurs Fri
    Sat Sun etc vs v esp approx cf al viz ext Ext est Est Attn attn Vol vol Sec Para Fig Figs Ed Eds eds
    Tel Ph Mob inc corp co dept Arrv arrv lv eg ie Dist Conf Spec Ariz Calif Colo Conn Fla Ill Mass Mich
    Minn Okla Ore Penn Tenn Tex Wash Wis Ass't Int'l Nat'l Gov't
""")

# The same, but only where a number follows: "No. 5", "pp. 12", but "I said no."
ABBREVIATIONS_BEFORE_NUMBERS = _words("No no Nos nos pp p Art art Ch ch Sect sect Rm")

# Abbreviations and acronyms after which a sentence often ends, and those after which it does not.
ENDING_ABBREVIATIONS = _words("""
    etc al Inc Corp Co Ltd INC CORP LTD inc corp co Bros Jr Sr Esq Ave Blvd Rd Hwy St Jan Feb Mar Apr Jun
    Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun
""")
INNER_ACRONYMS = _words("p.s i.e e.g a.k.a c.f n.b")

# Capitalized after an abbreviation, one of these begins a sentence.
SENTENCE_STARTERS = _words("""
    I You He She It We They My Your His Her Its Our Their This These Those There The Then When Where What
    Who How Why If But So However Also Please Thanks
""")

# First halves that keep their hyphen; other hyphens between words are tokens of their own.
HYPHEN_PREFIXES = _words("""
    anti arch bi co contra counter cross cyber de e ex extra hyper infra inter intra macro mega meta micro
    mid mini mis multi neo non over para post pre pro proto pseudo psycho quasi re semi sub super supra
    trans tri ultra un under uni
""")

# Second halves that keep their hyphen.
HYPHEN_SUFFIXES = _words("esque fold ish less")

# Words of several tokens with no mark between them, or with an unusual one, cut at the bars.
CONTRACTIONS = _words("""
    can|not gon|na wan|na got|ta out|ta lem|me gim|me du|n|no c'm|on y'|all d'|ye more'|n what|cha ai|nt
    are|nt ar|nt ca|nt could|nt did|nt does|nt do|nt had|nt has|nt have|nt is|nt might|nt must|nt need|nt
    should|nt was|nt were|nt wo|nt would|nt i|m i|ve it|ll you|re you|ll you|ve they|re they|ll they|ve
    we|ve he|s she|s that|s what|s who|s there|s here|s where|s how|s let|s else|s a|lot sort|a last|night
    in|fact high|school could|a should|a would|a
""")

# These end like contractions, but are not split.
NOT_CONTRACTED = _words("ya'll")

# What is cut from a number that it is glued to: 5|pm, 35|mm, $3|M.
UNITS = _words("""
    am pm AM PM Am Pm a.m. p.m. A.M. P.M. k K m M mm MM cm km kg g mg ml lb lbs oz ft sq in yd b bn B t tn
    p c hh hr hrs min mins minutes hours days weeks months years yrs sec secs Hz kHz KHz MHz GHz kb KB mb
    MB gb GB tb TB Mb Gb kbps mbps Mbps mph kmh W kW KW MW MWh kWh watt watts V F C f x X percent pct
    persons people pts
""")

# Letters that make one token with a dollar sign.
CURRENCIES = _words("US C CA A AU NZ HK S R")

# Words that open with an apostrophe.
ELIDED = _words("em til till cause bout n cuz round")

# Words whose last g became an apostrophe.
DROPPED_G = _words("""
    nothin somethin anythin goin doin lovin cookin talkin lookin comin gettin singin runnin makin takin
    sayin tellin workin playin livin tryin thinkin feelin bein havin walkin waitin darlin mornin evenin
""")

# Without those that are words too (it, me, in, at, be, no, us): "ask.me" probably lacks a space.
TOP_DOMAINS = _words("""
    com org net edu gov mil int info biz aero io tv uk ca au nz de fr es nl ch se dk fi ie jp cn hk sg kr
    tw ru ua pl cz gr pt br mx ar cl za il tr eu xyz
""")

FILE_ENDINGS = _words("""
    doc docx xls xlsx ppt pptx pdf txt rtf csv tsv xml json yaml yml toml html htm jpg jpeg png gif bmp
    tif tiff svg mp3 mp4 wav avi mov mpg mpeg zip gz tar xz bz2 rar exe dll iso bat sh py js ts css java
    cpp php url eml msg log dat mdb ini cfg bak md tex
""")

EMOTICONS = _words(r"""
    :) :-) ;) ;-) :( :-( :'( :'-( :D :-D ;D =D :P :-P ;P :p :-p =P =p :O :-O :o :-o :/ :-/ :\ :-\ :| :-|
    :* :-* :] :-] :[ :-[ =) =( =] =[ =/ (: (; (= ^_^ ^^ -_- o_O O_o O_O o_o >:( >:) >:-( :3 <3 </3 xD XD
    8-) B-) :)) :))) :(( :((( T_T ;_; :-)) :S :s :X :x \o/ \m/
""")
