/* scores.h - small corpora and sacreBLEU's scores of them; written by scores.py. */
/* clang-format off */
static const struct scored {
    const char *name;
    double bleu, bleu_lower, bleu_none, chrf;
    struct {
        const char *hypothesis, *reference;
    } pairs[6]; /* as many as have a hypothesis */
} scored[] = {
    {"equal", 100.00000000, 100.00000000, 100.00000000, 100.00000000, {
        {"The hen sleeps on the warm stove.",
         "The hen sleeps on the warm stove."},
    }},
    {"nothing in common", 9.68846456, 9.68846456, 0.00000000, 7.54297767, {
        {"Grey stones roll.",
         "My uncle sings every Sunday."},
    }},
    {"empty hypothesis", 0.00000000, 0.00000000, 0.00000000, 0.00000000, {
        {"",
         "A kite hangs in the oak."},
    }},
    {"empty reference", 0.00000000, 0.00000000, 0.00000000, 0.00000000, {
        {"A kite hangs in the oak.",
         ""},
    }},
    {"both empty", 0.00000000, 0.00000000, 0.00000000, 0.00000000, {
        {"",
         ""},
    }},
    {"one empty among others", 47.56857521, 47.56857521, 47.44024533, 61.53607004, {
        {"Rain fell on the roof all night.",
         "Rain fell on the roof all night long."},
        {"",
         "Nobody came to the fair."},
        {"We waited for the last bus home.",
         "We waited for the last train home."},
    }},
    {"one word", 0.00000000, 0.00000000, 0.00000000, 100.00000000, {
        {"Bread",
         "Bread"},
    }},
    {"two words", 0.00000000, 0.00000000, 0.00000000, 100.00000000, {
        {"Fresh bread",
         "Fresh bread"},
    }},
    {"three words of four", 0.00000000, 0.00000000, 0.00000000, 63.34974535, {
        {"She mends old",
         "She mends old clocks"},
    }},
    {"four words", 100.00000000, 100.00000000, 100.00000000, 100.00000000, {
        {"She mends old clocks",
         "She mends old clocks"},
    }},
    {"too short", 0.00000000, 0.00000000, 0.00000000, 27.83910164, {
        {"The goat ate",
         "The goat ate my only straw hat yesterday ."},
    }},
    {"too long", 20.20010691, 20.20010691, 20.20010691, 68.13911704, {
        {"the the the the the the goat goat ate the hat and the scarf",
         "the goat ate the hat"},
    }},
    {"repetition is clipped", 7.80984984, 7.80984984, 7.80984984, 13.02422723, {
        {"the the the the the the the",
         "the cat stood near the mat"},
    }},
    {"no four in a row", 31.80094014, 31.80094014, 31.80094014, 34.62124604, {
        {"a b c x d e f y g h i",
         "a b c d e f g h i"},
    }},
    {"only single words match", 14.05853313, 14.05853313, 14.05853313, 43.99220108, {
        {"one x two y three",
         "three one two"},
    }},
    {"word order", 54.10822691, 73.11104457, 41.11336169, 83.74112014, {
        {"Yesterday the baker forgot the salt again.",
         "The baker forgot the salt again yesterday."},
    }},
    {"case", 8.11669789, 100.00000000, 0.00000000, 12.49502945, {
        {"THE LIGHTHOUSE KEEPER Likes Soup.",
         "The lighthouse keeper likes soup."},
    }},
    {"numbers", 100.00000000, 100.00000000, 22.26521514, 100.00000000, {
        {"It cost 1,250.75 crowns, or 3.5 % more than in 1999.",
         "It cost 1,250.75 crowns , or 3.5% more than in 1999 ."},
    }},
    {"dates and times", 100.00000000, 100.00000000, 5.63040055, 100.00000000, {
        {"On 24-12-1887, at 10:45, no. 7 left.",
         "On 24-12-1887 , at 10 : 45 , no.7 left."},
    }},
    {"figures at the edges", 100.00000000, 100.00000000, 14.75956453, 100.00000000, {
        {".5 of 1. and 2, or 3.",
         ".5 of 1 . and 2 , or 3."},
    }},
    {"stops in a row", 100.00000000, 100.00000000, 0.00000000, 100.00000000, {
        {"Wait... what?! No,, yes..",
         "Wait . . . what ? ! No , , yes . ."},
    }},
    {"hyphens", 68.65890480, 68.65890480, 6.15594744, 85.31548090, {
        {"A well-known four-leaf clover - or 3-leaf, 5-7 cm.",
         "A well known four-leaf clover or 3 - leaf , 5 - 7 cm ."},
    }},
    {"apostrophes", 42.13952948, 42.13952948, 4.95572531, 89.57069112, {
        {"It's the miller's dog, isn't it?",
         "It is the miller 's dog , isn't it ?"},
    }},
    {"quotes", 64.06914384, 64.06914384, 2.63419196, 100.00000000, {
        {"\"Come in,\" she said, 'quick'.",
         "\" Come in , \" she said , ' quick ' ."},
    }},
    {"entities", 100.00000000, 100.00000000, 5.70796903, 37.20252826, {
        {"Salt &amp; pepper &lt;cheap&gt; &quot;now&quot;",
         "Salt & pepper < cheap > \" now \""},
    }},
    {"entity of an entity", 12.54931062, 12.54931062, 10.68217516, 49.25104985, {
        {"&amp;lt; and &amp;quot; and &amp;amp; stay",
         "< and &quot; and & stay"},
    }},
    {"skipped", 100.00000000, 100.00000000, 32.46679155, 61.05879883, {
        {"one <skipped>two <skipped> three four five",
         "one two three four five"},
    }},
    {"marks", 100.00000000, 100.00000000, 1.21569434, 100.00000000, {
        {"f(x) = {a[1] + b_2} / ~c^3 @ 50% #1 | `q` \\ $9 * 2; <y>: z!",
         "f ( x ) = { a [ 1 ] + b_2 } / ~ c^3 @ 50 % # 1 | ` q ` \\ $ 9 * 2 ; < y > : z !"},
    }},
    {"line breaks inside", 100.00000000, 100.00000000, 43.47208719, 86.39783692, {
        {"a bro-\012ken line\012of words here",
         "a broken line of words here"},
    }},
    {"hyphen at the end", 100.00000000, 100.00000000, 100.00000000, 100.00000000, {
        {"it ends with a hyphen-\012",
         "it ends with a hyphen-"},
    }},
    {"white space", 100.00000000, 100.00000000, 100.00000000, 100.00000000, {
        {"  tabs\011and\302\240odd\342\200\203spaces \343\200\200 count  as one\015\012",
         "tabs and odd spaces count as one"},
    }},
    {"information separators", 100.00000000, 100.00000000, 100.00000000, 100.00000000, {
        {"a\034b\035c\036d\037e",
         "a b c d e"},
    }},
    {"umlauts", 35.49481056, 35.49481056, 36.88939732, 82.28550841, {
        {"Der Müller grüßt die schöne Wölfin über den Zaun.",
         "Der Müller grüßte die schöne Wölfin über dem Zaun."},
    }},
    {"umlauts in capitals", 4.99004970, 100.00000000, 0.00000000, 0.87719298, {
        {"DIE MÜHLE STEHT AM FLUSS, ÖSTLICH DER BRÜCKE.",
         "die mühle steht am fluss, östlich der brücke."},
    }},
    {"German quotes and dashes", 14.30869740, 14.30869740, 10.73525213, 80.02342101, {
        {"„Komm herein“, sagte sie – und lachte …",
         "„ Komm herein “ , sagte sie - und lachte ..."},
    }},
    {"French", 53.44445935, 53.44445935, 8.29519351, 92.18986337, {
        {"L'été, où l'on s'ennuie, cœur léger : « hélas ! »",
         "L'été où l'on s'ennuie , cœur léger: «hélas!»"},
    }},
    {"Polish and Czech", 26.26909894, 100.00000000, 21.36435032, 51.31288390, {
        {"Zażółć gęślą jaźń. ŽLUŤOUČKÝ KŮŇ.",
         "zażółć gęślą jaźń. Žluťoučký kůň."},
    }},
    {"Turkish dotted I", 39.76353644, 42.72870064, 31.94715521, 47.39107953, {
        {"İzmir'de IŞIK var mı?",
         "i̇zmir'de ışık var mı?"},
    }},
    {"Greek with final sigma", 10.68217516, 100.00000000, 0.00000000, 0.83333333, {
        {"Ο ΜΙΚΡΌΣ ΣΚΎΛΟΣ ΤΡΈΧΕΙ.",
         "ο μικρός σκύλος τρέχει."},
    }},
    {"Russian", 18.57505800, 100.00000000, 12.70331870, 40.65355243, {
        {"СТАРЫЙ МОСТ скрипит, ЁЖ молчит.",
         "Старый мост скрипит, ёж молчит."},
    }},
    {"Chinese", 0.00000000, 0.00000000, 0.00000000, 61.48809524, {
        {"小猫睡在窗台上。",
         "小狗睡在窗台上。"},
    }},
    {"emoji", 12.70331870, 23.64354023, 10.68217516, 92.47065435, {
        {"good morning 😀 👩\342\200\215👧 !",
         "Good morning 😀👩\342\200\215👧!"},
    }},
    {"combining marks", 0.00000000, 0.00000000, 0.00000000, 21.26754636, {
        {"café nöel",
         "café noël"},
    }},
    {"digits of other scripts", 100.00000000, 100.00000000, 4.67328979, 100.00000000, {
        {"٣.٥ and ½. and ²,3",
         "٣ . ٥ and ½ . and ² , 3"},
    }},
    {"short corpus", 0.00000000, 0.00000000, 0.00000000, 22.89721750, {
        {"Yes.",
         "Yes."},
        {"No.",
         "No!"},
        {"Maybe.",
         "Perhaps."},
    }},
    {"small corpus", 43.14748858, 43.14748858, 35.80288654, 72.11506751, {
        {"The old bridge creaks in the wind.",
         "The old bridge is creaking in the wind."},
        {"Nine geese cross the frozen pond.",
         "Nine geese are crossing the frozen pond."},
        {"He paid 12.50 for a second-hand bicycle.",
         "He paid 12.50 for a used bicycle."},
        {"\"Never,\" said the clerk.",
         "\"Never!\" the clerk said."},
        {"Two tailors share one pair of scissors.",
         "Two tailors share a pair of scissors."},
    }},
    {"corpus in German", 26.10868194, 34.24321437, 18.70451279, 68.65337801, {
        {"Der alte Hund schläft unter dem Tisch.",
         "Unter dem Tisch schläft der alte Hund."},
        {"Ich habe gestern keinen Zug gesehen.",
         "Gestern habe ich keinen Zug gesehen."},
        {"Wenn es regnet, bleiben die Hühner im Stall.",
         "Die Hühner bleiben im Stall, wenn es regnet."},
        {"Sie ruft ihre Großmutter an.",
         "Sie ruft ihre Großmutter jeden Abend an."},
    }},
    {"one character", 0.00000000, 0.00000000, 0.00000000, 90.90909091, {
        {"x",
         "x"},
        {"yy",
         "y"},
    }},
};
/* clang-format on */
