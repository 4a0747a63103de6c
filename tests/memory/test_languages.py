"""Other languages: they are found, their small talk gets silence, and their words do not spoil English."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.memory.opening import VARIANTS, open_store, texts
from tidings.memory.languages import language_of
from tidings.memory.words import content, words

TOLD = {
    "german": (
        "Wir gehen nur dienstags und donnerstags in Produktion.",
        "Die Zollschnittstelle gehört Ingrid.",
        "Der Drucker im Flur nimmt nur Papier im Format A3.",
    ),
    "french": (
        "Nous déployons en production le mardi et le jeudi seulement.",
        "Le module de douane appartient à Ingrid.",
        "L'imprimante du couloir ne prend que du papier A3.",
    ),
    "spanish": (
        "Desplegamos a producción solo los martes y jueves.",
        "El módulo de aduanas es de Ingrid.",
        "La impresora del pasillo solo acepta papel A3.",
    ),
    "chinese": (
        "我们只在周二和周四部署到生产环境。",
        "海关模块由英格丽德负责。",
        "走廊里的打印机只用A3纸。",
    ),
}
ASKED = {
    "german": (
        "Wann dürfen wir in Produktion gehen?",
        "Wem gehört die Zollschnittstelle?",
        "Welches Papier nimmt der Drucker?",
    ),
    "french": (
        "Quand déployons-nous en production ?",
        "À qui appartient le module de douane ?",
        "Quel papier prend l'imprimante ?",
    ),
    "spanish": (
        "¿Cuándo desplegamos a producción?",
        "¿De quién es el módulo de aduanas?",
        "¿Qué papel acepta la impresora?",
    ),
    "chinese": ("什么时候可以部署到生产环境？", "海关模块由谁负责？", "走廊里的打印机用什么纸？"),
}
SMALL_TALK = {
    "german": (
        "Wie geht es dir heute?",
        "Danke, das war super!",
        "Guten Morgen!",
        "Ja, genau so machen wir das.",
        "ok, weiter",
    ),
    "french": (
        "Comment ça va aujourd'hui ?",
        "Merci, c'est parfait !",
        "Bonjour !",
        "Oui, c'est bien ça.",
        "d'accord, continue",
    ),
    "spanish": ("¿Cómo estás hoy?", "¡Gracias, perfecto!", "¡Hola!", "Sí, así está bien.", "vale, sigue"),
    "chinese": ("你好！", "谢谢你！", "今天天气怎么样？", "好的，继续。", "没问题。"),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("language", TOLD)
def test_a_question_in_its_language_finds_what_was_told_and_small_talk_finds_nothing(
    tmp_path: Path, language: str, variant: str
) -> None:
    with open_store(tmp_path / "memory.db", variant) as store:
        for text in TOLD[language]:
            store.remember(text=text)
        store.warm_up()
        assert [texts(store, message) for message in SMALL_TALK[language]] == [[]] * 5
        assert [texts(store, question)[:1] for question in ASKED[language]] == [
            [text] for text in TOLD[language]
        ]


def test_the_language_of_a_text_is_that_of_its_small_words() -> None:
    found = {language: language_of(words(said[0])) for language, said in TOLD.items()}
    assert found == {language: language for language in TOLD}
    assert language_of(words("We deploy on Tuesdays only.")) == "english"


@pytest.mark.parametrize("text", ["", "ClickHouse", "2026", "foo bar baz", "サーバー", "Нет"])
def test_a_text_without_small_words_counts_as_english(text: str) -> None:
    assert language_of(words(text)) == "english"


def test_words_that_are_grammar_elsewhere_stay_content_in_english() -> None:
    said = "The war on disk latency ended when the die shrank; MIT wrote son of grep."
    assert {"war", "die", "mit", "son"} <= set(content(words(said)))


def test_scripts_without_spaces_are_cut_in_pairs_and_mixed_words_apart() -> None:
    assert words("部署到K8s集群 v2") == ["部署", "署到", "k8s", "集群", "v2"]
    assert words("サーバーは火曜日") == ["サー", "ーバ", "バー", "ーは", "は火", "火曜", "曜日"]
    assert words("Größe naïve") == ["größe", "naïve"]
