"""Which words say nothing, language by language, and which language a text is in. Data, and a small guess.

Words of grammar of one language are words of content in another ("die", "war", "on"), so only those of the
text's own language are left out: the one of whose words most occur in it, English when none does more.
Languages without a list lose silence and nothing else: their grammar counts as content, and what is
frequent counts little. Chinese is cut in pairs of characters (`words.py`), and so are its words here.
"""

from __future__ import annotations

from collections.abc import Sequence

_ENGLISH = """
a about above after again against all also am an and any anybody anyone anything are aren as at be
because been before being below between both but by can cannot could couldn d did didn do does doesn
doing don down during each either else ever every everyone everything few for from further get gets
getting give given go goes going got had hadn has hasn have haven having he her here hers herself him
himself his how however i if in into is isn it its itself just kind know let like ll look lot m make
makes many may maybe me might mine more most much must my myself need needs neither no nor not nothing
now of off often on once one only onto or other others our ours ourselves out over own per perhaps quite
rather re really s same say see seem shall she should shouldn since so some somebody someone something
sort still such sure t take tell than that the their theirs them themselves then there these they thing
things think this those though through thus to too under until up upon us use used using ve very want
wants was wasn way we well were weren what whatever when where whether which while who whom whose why
will with within without won would wouldn yes yet you your yours yourself yourselves
"""
_GERMAN = """
aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim bin bis bist da
dabei dafür damit dann daran darauf darf das dass dein deine dem den denn der des dich die dies diese
diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch
euer für gegen gibt haben hast hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren
ihrer im immer in ins ist ja jede jedem jeden jeder jedes jetzt kann kannst kein keine keinem keinen
keiner können könnte machen mal man mehr mein meine meinem meinen meiner mich mir mit muss müssen nach
nein nicht nichts noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner seit sich sie
sind so solche soll sollen sollte sondern sonst um und uns unser unsere unserem unseren unserer unter
viel vom von vor wann war waren warum was weil welche welchem welchen welcher welches wenn wer werde
werden wie wieder will wir wird wirst wo woher wohin wollen worden wurde wurden würde zu zum zur zwar
zwischen über
"""
_FRENCH = """
ai aie ait alors après as au aucun aucune aussi autre autres aux avait avant avec avez avoir avons ayant
beaucoup bien c car ce ceci cela celle celles celui ces cet cette chaque chez ci comme comment d dans de
depuis des donc dont du elle elles en encore entre es est et eu eux faire fais fait faites faut il ils j
je jusqu l la le les leur leurs lui ma mais me mes moi moins mon même n ne ni non nos notre nous on ont
ou oui où par parce pas pendant peu peut peuvent peux plus plusieurs pour pourquoi pouvez qu quand que
quel quelle quelles quels qui quoi s sa sans se sera ses si soit son sont sous suis sur ta te tes toi
ton tous tout toute toutes trop très tu un une va vais vas vers veut veux voici voilà vont vos votre
vous y à ça étaient était étant être
"""
_SPANISH = """
al algo alguien alguna algunas algunos algún ante antes aquel aquella aquí así aunque bajo bien cada
casi como con contra cual cuales cuando cuál cuándo cuánto de debe deben del desde donde dos durante
dónde e el ella ellas ellos en entre era eran es esa esas ese eso esos esta estaba estamos estar estas
este esto estos está están fue fueron ha había hace hacer hacia han hasta hay he hemos la las le les lo
los me mi mis mucho muy más nada ni no nos nosotros nuestra nuestras nuestro nuestros o os otra otras
otro otros para pero poco por porque pueda puede pueden puedo que quien quién qué se sea ser si sin
sobre son soy su sus sí también tan tanto te tenemos tener tengo ti tiene tienen todo todos tu tus tú un
una unas uno unos va vamos voy y ya yo él
"""
_CHINESE = """
一下 一个 一些 一样 上面 下面 不会 不是 不能 不要 为了 为什 么时 么样 也是 人们 什么 今天 他们 以前 以及
以后 们什 们在 们有 们的 但是 你们 你的 候我 再见 可不 可以 可能 哪个 哪些 哪里 因为 在哪 多少 她们 如何
如果 它们 对于 就是 已经 应该 怎么 怎样 我们 我的 我要 所以 所有 时候 时间 明天 是不 是什 是否 有什 有没
来说 没有 现在 的时 的是 看看 知道 自己 还是 还有 这个 这些 这样 这里 那个 那些 那样 那里 里的 需要 非常
"""

GRAMMAR: dict[str, frozenset[str]] = {
    "english": frozenset(_ENGLISH.split()),
    "german": frozenset(_GERMAN.split()),
    "french": frozenset(_FRENCH.split()),
    "spanish": frozenset(_SPANISH.split()),
    "chinese": frozenset(_CHINESE.split()),
}
"""Words of grammar."""

_ENGLISH_CHATTER = """
afternoon again agree agreed alright amazing awesome bit bored bye cheers coffee continue cool correct
different enough excellent explain faster fewer fine funny glad good goodbye great ha haha happy hello
help hey hi hm hmm hope instead interesting joke lol longer looks lovely lunch morning nice night nope
oh ok okay perfect please proceed quick ready redo rephrase rewrite right shorter simpler slower slowly
sorry sounds stop summarise summarize sunny super thank thanks tired today tomorrow understood undo wait
weekend welcome wonderful wow yeah yep yesterday yup
"""
_GERMAN_CHATTER = """
abend ach alles bescheid besser bitte danke dankeschön einverstanden entschuldigung erkläre erklären
feierabend fertig freut geht genau gerne gestern gut gute guten guter hallo heute hi hilfe interessant
kaffee klar klasse klingt kurz kürzer langsam leider lustig länger mach mittag moin morgen nett ok okay
perfekt prima richtig schade schlecht schnell schön schöne schönes sorry spitze stimmt stopp super tag
tja toll tschüss verstanden vielen warte weiter wochenende wow wunderbar zeig
"""
_FRENCH_CHATTER = """
accord adieu ah aide allez attends aujourd bientôt bon bonjour bonne bonsoir bravo café ciao clair
continue court demain dommage désolé entendu exact excellent explique fini grâce génial haha hello hier
hui intéressant journée lentement long matin merci mieux ok okay pardon parfait peine plaît prêt rapide
salut soir stop super svp va vite vraiment
"""
_SPANISH_CHATTER = """
acuerdo adiós ah ayer ayuda buena buenas bueno buenos café ciao claro continúa correcto disculpa días
entendido espera estupendo excelente explica favor genial gracias haha hola hoy interesante jaja lento
listo luego mañana mejor momento noches ok okay perdón perfecto pronto resumen rápido semana siento
sigue súper tardes vale verdad
"""
_CHINESE_CHATTER = """
一下 上好 下午 不客 不起 么样 了解 你好 你谢 再见 加油 午好 厉害 可以 周末 哈哈 多谢 天天 天气 太好 好了
好的 客气 对不 帮忙 帮我 常好 很好 怎么 总结 您好 愉快 感谢 抱歉 收到 早上 明白 是的 晚上 气怎 没错 没问
继续 解释 请继 请问 谢你 谢谢 辛苦 问题
"""

CHATTER: dict[str, frozenset[str]] = {
    "english": frozenset(_ENGLISH_CHATTER.split()),
    "german": frozenset(_GERMAN_CHATTER.split()),
    "french": frozenset(_FRENCH_CHATTER.split()),
    "spanish": frozenset(_SPANISH_CHATTER.split()),
    "chinese": frozenset(_CHINESE_CHATTER.split()),
}
"""Words that conversations are held together with, and that no memory is asked for by alone."""

_OURS = """
aquí here hier ici let nos nosotros notre nous nuestra nuestras nuestro nuestros our ours uns unser
unsere unserem unseren unserer us we wir 们的 我们
"""
OURS = frozenset(_OURS.split())
"""Words by which a message says that it is about what we do here, and not about the world."""

_CHANGED = """
abgeschafft ahora anymore became cambiado cambió changed changes changé currently depuis desde dropped
déplacé désormais ersetzen ersetzt extended gewechselt geändert gone handed increased instead jetzt left
longer lowered maintenant migrated moved moves movido neu neue neuer neues new newer nouveau nouvelle
now nueva nuevo nun raised reduced reemplazado remplacé remplacée renamed renommé replaced replaces
retired seit shortened since stattdessen stopped switched umbenannt umgezogen updated 不再 换成 改为
改成 现在 迁移
"""
CHANGED = frozenset(_CHANGED.split())
"""Words by which a statement says that something is no longer as it was."""


_EMPTY = {name: GRAMMAR[name] | CHATTER[name] for name in GRAMMAR}


def language_of(words: Sequence[str]) -> str:
    """The language of whose empty words most occur in a text; English when none does more."""
    counts = {name: sum(map(empty.__contains__, words)) for name, empty in _EMPTY.items()}
    return max(counts, key=counts.__getitem__)
