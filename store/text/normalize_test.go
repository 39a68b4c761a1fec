package text_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/trendvidstream/ingest/store/text"
)

func TestNormalize(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"signs", " -- | (…) «»", ""},
		{"English", "Don't STOP: the AC/DC-show (Official)", "don t stop the ac dc show official"},
		{"typographic", "Don’t “stop”", "don t stop"},
		{"German", "Große Äpfel für Übermüßige, GROẞ", "grosse apfel fur ubermussige gross"},
		{"French", "L'Œuvre à Noël – ÇA", "l oeuvre a noel ca"},
		{"Portuguese", "Coração, São João", "coracao sao joao"},
		{"Spanish", "¿Qué? Mañana", "que manana"},
		{"Danish", "Rødgrød Ærø Åland", "rodgrod aero aland"},
		{"Polish", "Zażółć gęślą jaźń, ŁÓDŹ", "zazolc gesla jazn lodz"},
		{"Icelandic", "Þórður Ðað", "thordur dad"},
		{"Turkish", "İstanbul IŞIK ışık", "istanbul isik isik"},
		{"Vietnamese", "Tiếng Việt Đường", "tieng viet duong"},
		{"Greek", "ΣΊΣΥΦΟΣ Σίσυφος", "σισυφοσ σισυφοσ"},
		{"Russian", "Ёлка Йод", "елка иод"},
		{"Hindi", "नई हिंदी फ़िल्म", "नई हिंदी फ\u093cिल्म"},
		{"Hindi, joiner", "क्\u200dष", "क्ष"},
		{"Tamil", "தமிழ் திரைப்படம்!", "தமிழ் திரைப்படம்"},
		{"Arabic", "مُقَدِّمَة أحمد كـــتاب", "مقدمه احمد كتاب"},
		{"Arabic, endings", "مدرسة على", "مدرسه علي"},
		{"Hebrew", "שָׁלוֹם", "שלום"},
		{"Thai", "ตัวอย่าง", "ตั ัว วอ อย ย่ ่า าง ง"},
		{"Lao", "ລາວ 12", "ລາ າວ ວ 12"},
		{"Khmer", "ខ្មែរ", "ខ្ ្ម មែ ែរ រ"},
		{"Burmese", "မြန်", "မြ ြန န် ်"},
		{"Bengali", "বাংলা গান", "বাংলা গান"},
		{"Chinese", "北京大学", "北京 京大 大学 学"},
		{"Chinese, one", "猫", "猫"},
		{"Japanese", "東京タワーのねこ", "東京 京た たわ わー ーの のね ねこ こ"},
		{"Japanese, half width", "ｶﾞｲﾄﾞ", "がい いど ど"},
		{"Japanese, uncomposed", "カ\u3099", "が"},
		{"Korean", "고양이 영상", "고양 양이 이 영상 상"},
		{"Korean, uncomposed", norm.NFD.String("한국"), "한국 국"},
		{"mixed", "2026年NHK放送", "2026 年 nhk 放送 送"},
		{"full width", "ＦＵＬＬ　ｗｉｄｔｈ１", "full width1"},
		{"styled", "𝗕𝗼𝗹𝗱 𝓢𝓬𝓻𝓲𝓹𝓽 ⓒircled", "bold script circled"},
		{"ligature", "ﬁlm ﬀ", "film ff"},
		{"emoji", "Goal🔥🔥now", "goal 🔥 🔥 now"},
		{"emoji, tone, selector, joined", "👍🏽 ❤️ 👨‍👩‍👧 1️⃣", "👍 ❤ 👨 👩 👧 1"},
		{"flag", "🇩🇪", "🇩 🇪"},
		{"trade marks", "Brand™ Name® ©2026", "brand name 2026"},
		{"zero width", "a\u200cb\u200dc\u2060d\ufeffe\u00adf", "abcdef"},
		{"zero width space", "a\u200bb", "a b"},
		{"bidi", "\u202eabc\u202c", "abc"},
		{"zalgo", "z\u0300\u0301\u0302\u0489a", "za"},
		{"NUL", "a\x00b", "a b"},
		{"not UTF-8", "a\xffb", "a b"},
		{"replacement", "a\ufffdb", "a b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := text.Normalize(tt.text); got != tt.want {
				t.Errorf("%q -> %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

func FuzzNormalizeGivesTokens(f *testing.F) {
	for _, seed := range []string{"Große Äpfel", "東京タワー", "नई फ़िल्म", "👨‍👩‍👧", "a\u0301\u0327\u200d\u0302", "\xff", "ﷺ", "ǅ", "각", "カ\u3099"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got := text.Normalize(in)
		if !utf8.ValidString(got) {
			t.Errorf("%q -> %q is not UTF-8", in, got)
		}
		if got != "" && strings.Join(strings.Fields(got), " ") != got {
			t.Errorf("%q -> %q is not parted by single spaces", in, got)
		}
		for _, r := range got {
			if r != ' ' && !unicode.In(r, unicode.L, unicode.N, unicode.Mn, unicode.Mc, unicode.So) {
				t.Errorf("%q -> %q holds %U, which the tokenizer would drop", in, got, r)
			}
		}
		if !utf8.ValidString(in) {
			return
		}
		for form, other := range map[string]string{"NFC": norm.NFC.String(in), "NFD": norm.NFD.String(in)} {
			if again := text.Normalize(other); again != got {
				t.Errorf("%q -> %q, but its %s -> %q", in, got, form, again)
			}
		}
	})
}
