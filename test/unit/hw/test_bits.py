"""Fields of words, against strings of binary digits."""

from unit.cases import together

from tirx.hw.bits import bits_text, deposit, extract

WORD = 0b1101_0010_1110_0101


@together("first", [0, 3, 7, 15])
@together("width", [1, 2, 5, 16])
def test_fields(first: int, width: int):
    digits = f"{WORD:032b}"[::-1]
    assert f"{extract(WORD, (first, width)):0{width}b}"[::-1] == digits[first : first + width]
    for code in (0, 1, 0b10110, 0b1_0000_0000_0000_0011):
        expected = digits[:first] + f"{code:032b}"[::-1][:width] + digits[first + width :]
        assert deposit(WORD, (first, width), code) == int(expected[::-1], 2)


def test_texts():
    assert [bits_text(bits) for bits in ((5, 1), (0, 14), (62, 2))] == ["bit 5", "bits 0-13", "bits 62-63"]
