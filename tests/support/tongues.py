"""Paragraphs of stories in several languages, with the marks and the sentence ends that each has."""

# ruff: noqa: RUF001 - typographic marks and letters of other scripts are what is tested

from __future__ import annotations

from typing import Final

BRIEFS: Final = {
    "zh": "写一篇三百字左右的短篇小说，讲守灯塔的老妇人和男孩小宝，用现在时。",
    "de": "Schreibe etwa 300 Wörter über Mara, die einen Leuchtturm hütet, und den Jungen Tobias, im Präsens.",
    "fr": "Écris une nouvelle d'environ 300 mots sur Mara, gardienne de phare, au présent.",
    "es": "Escribe un cuento de unas 300 palabras sobre Mara, que cuida un faro, en presente.",
    "ru": "Напиши рассказ примерно на 300 слов о Маре, смотрительнице маяка.",
    "ar": "اكتب قصة من ٣٠٠ كلمة عن مارا التي تحرس المنارة وعن الصبي طوبيا : مارا ثم طوبيا.",
    "ja": "灯台守のマラについて、三百字ほどの短編を書いてください。",
    "hi": "मारा के बारे में लगभग 300 शब्दों की कहानी लिखो, जो प्रकाशस्तंभ की रखवाली करती है।",
    "ko": "등대지기 마라에 대해 약 300단어의 이야기를 써 주세요.",
    "th": "เขียนเรื่องสั้นประมาณ 300 คำ เกี่ยวกับมารา ผู้เฝ้าประภาคาร",
}

PEOPLE: Final = {"zh": ("小宝", "老妇人"), "de": ("Tobias", "Mara"), "ar": ("طوبيا", "مارا")}

# Each paragraph holds its number once; the last of each language ends in speech, or as its stories end.
PARAGRAPHS: Final = {
    "zh": (
        "第{n}级台阶很冷，老妇人把手放在铜栏杆上。她数着浪，一句话也不说……海在下面翻身。",
        "“你回来了。”她说。\n\n“我从来没有离开过第{n}扇门。”男孩答道，“那么是谁给钟上的弦？”",
        "第{n}封信放在桌上。她不敢打开；她想起《海图》里的一句话——“灯亮着，没有人来。”",
    ),
    "de": (
        "Stufe {n} ist kalt, und Mara legt die Hand auf das Messing. Am 3. Mai, sagt sie, war es ebenso kalt.",
        "„Du bist zurück“, sagt sie. „Ich war nie fort von Tür {n}.“ – „Wer hat dann die Uhr aufgezogen?“",
        "»Komm herauf!«, ruft sie. »Es sind nur noch {n} Stufen, z. B. die mit dem Riss.« Er kommt nicht.",
    ),
    "fr": (
        "La marche {n} est froide ; Mara pose la main sur le cuivre. Elle compte les vagues… et se tait.",
        "« Tu es revenu ! » dit-elle. « Je n'ai jamais quitté la porte {n}. »",
        "— Qui a remonté l'horloge ? demande-t-il.\n\n— Personne, répond Mara. Pas depuis {n} ans.",
    ),
    "es": (
        "El escalón {n} está frío. ¿Quién ha dado cuerda al reloj? ¡Nadie! Mara cuenta las olas.",
        "—Has vuelto —dice ella—. No te esperaba.\n\n—Nunca me fui de la puerta {n} —contesta el niño—. ¿Y tú?",
        "«La lámpara está encendida», piensa Mara en la hora {n}, «y no viene nadie».",
    ),
    "ru": (
        "Ступень {n} холодна, и Мара кладёт руку на медь. Она считает волны… и молчит.",
        "— Ты вернулся? — спросила она. — Я ждала.\n\n— Я не уходил от двери {n}, — сказал мальчик.",
        "«Лампа горит, — думает Мара в час {n}, — и никто не идёт». За окном шумит море!",
    ),
    "ar": (
        "الدرجة {n} باردة، وتضع مارا يدها على النحاس. تعدّ الأمواج ولا تقول شيئًا.",
        "«هل عدتَ؟» سألته مارا. «لم أغادر الباب {n} قط.»",
        "مَن ملأ الساعة في الليلة {n}؟ لا أحد! المصباح مضاء، ولا أحد يأتي.",
    ),
    "ja": (
        "第{n}段目は冷たい。マラは真鍮に手を置き、波を数える。何も言わない……。",
        "「帰ってきたのね」とマラは言った。\n\n「{n}番の扉から離れたことはないよ」",
        "時計を巻いたのは誰だろう？　{n}通目の手紙は、まだ机の上にある。",
    ),
    "hi": (
        "सीढ़ी {n} ठंडी है, और मारा पीतल पर हाथ रखती है। वह लहरें गिनती है।",
        "“तुम लौट आए?” मारा ने पूछा। “मैं दरवाज़ा {n} से कभी गया ही नहीं।”",
        "घड़ी में चाबी किसने भरी, रात {n} को? दीया जल रहा है, और कोई नहीं आता।",
    ),
    "ko": (
        "{n}번째 계단은 차갑다. 마라는 놋쇠에 손을 얹는다. 파도를 세며 아무 말도 하지 않는다.",
        "“돌아왔구나.” 마라가 말했다.\n\n“{n}번 문을 떠난 적이 없어요.” 아이가 대답했다.",
        "시계의 태엽은 누가 감았을까? {n}번째 편지는 아직 책상 위에 있다.",
    ),
    "th": (
        "บันไดขั้นที่ {n} เย็นเฉียบ มาราวางมือบนทองเหลือง เธอนับคลื่นและไม่พูดอะไร",
        "“เธอกลับมาแล้ว” มาราพูด “ฉันไม่เคยจากประตูที่ {n} ไปไหน” เด็กชายตอบ",
        "ใครไขลานนาฬิกาในคืนที่ {n} ตะเกียงยังสว่าง และไม่มีใครมา",
    ),
}
