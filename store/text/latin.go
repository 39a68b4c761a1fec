package text

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// latinOf maps folded letters of other alphabets to how they are typed in Latin letters. An a follows a consonant of
// Devanagari, unless a vowel sign, a virama or the word's end does.
var latinOf = pairsOf("а a б b в v г g ґ g д d е e є ye ж zh з z и i і i к k л l м m " +
	"н n о o п p р r с s т t у u ф f х h ц ts ч ch ш sh щ sch ы y э e ю yu я ya " +
	"α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s τ t υ i φ f χ ch ψ ps ω o " +
	"अ a आ a इ i ई i उ u ऊ u ऋ ri ए e ऐ ai ओ o औ au ा a ि i ी i ु u ू u ृ ri े e ै ai ो o ौ au ं n ँ n ः h " +
	"क k ख kh ग g घ gh च ch छ ch ज j झ jh ञ n ट t ठ th ड d ढ dh ण n त t थ th द d ध dh न " +
	"n प p फ f ब b भ bh म m य y र r ल l व v श sh ष sh स s ह h")

// begunBy maps a Latin letter to the letters whose typed form begins with it.
var begunBy = func() map[byte][]string {
	by := map[byte][]string{}
	for letter, typed := range latinOf {
		by[typed[0]] = append(by[typed[0]], letter)
	}
	for _, letters := range by {
		slices.Sort(letters)
	}
	return by
}()

// kana maps syllables as they are typed to how they are written.
var kana = pairsOf("a あ i い u う e え o お ka か ki き ku く ke け ko こ sa さ shi し su す se " +
	"せ so そ ta た chi ち tsu つ te て to と na な ni に nu ぬ ne ね no の " +
	"ha は hi ひ fu ふ he へ ho ほ ma ま mi み mu む me め mo も ya や yu ゆ yo よ ra ら ri り ru る re れ ro ろ wa わ wo を n ん " +
	"ga が gi ぎ gu ぐ ge げ go ご za ざ ji じ zu ず ze ぜ zo ぞ da だ de で do ど ba ば bi び bu ぶ be べ bo ぼ pa ぱ pi ぴ pu ぷ pe ぺ po ぽ " +
	"kya きゃ kyu きゅ kyo きょ sha しゃ shu しゅ sho しょ cha ちゃ chu ちゅ cho ちょ nya にゃ nyu にゅ nyo にょ " +
	"hya ひゃ hyu ひゅ hyo ひょ mya みゃ myu みゅ myo みょ " +
	"rya りゃ ryu りゅ ryo りょ gya ぎゃ gyu ぎゅ gyo ぎょ ja じゃ ju じゅ jo じょ bya びゃ byu びゅ byo びょ pya ぴゃ pyu ぴゅ pyo ぴょ")

func pairsOf(list string) map[string]string {
	pairs := map[string]string{}
	for two := range slices.Chunk(strings.Fields(list), 2) {
		pairs[two[0]] = two[1]
	}
	return pairs
}

// alike replaces different spellings of a sound by one of them.
var alike = strings.NewReplacer("ee", "i", "oo", "u", "aa", "a", "kh", "h", "w", "v", "ph",
	"f", "ou", "u", "yi", "y", "shch", "sch")

// latin returns a word as it is typed in Latin letters.
func latin(word string) string {
	var b strings.Builder
	open := false // after a consonant of Devanagari
	for _, r := range word {
		typed := latinOf[string(r)]
		consonant := r >= 'क' && r <= 'ह'
		if open && (consonant || r == 'ं' || r == 'ँ' || r == 'ः') {
			b.WriteByte('a')
		}
		open = consonant || open && r == '़' // the nukta changes the consonant, not the vowel sign after it
		b.WriteString(typed)
	}
	return b.String()
}

// inKana converts a word from Latin letters to hiragana (all kana are folded to hiragana); "" if it does not consist
// of syllables.
func inKana(word string) string {
	var b strings.Builder
	for word != "" {
		if len(word) > 1 && word[0] == word[1] && strings.IndexByte("aeioun", word[0]) < 0 {
			b.WriteString("っ")
			word = word[1:]
			continue
		}
		n := min(3, len(word))
		for n > 0 && kana[word[:n]] == "" {
			n--
		}
		if n == 0 {
			return ""
		}
		b.WriteString(kana[word[:n]])
		word = word[n:]
	}
	return b.String()
}

// transcribed adds words of other alphabets (Cyrillic, Greek, Devanagari, kana) that are typed like this in Latin
// letters.
func (c *clause) transcribed(v Vocabulary) error {
	word := c.tokens[0]
	if len(c.tokens) > 1 || len(word) < 3 || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" {
		return nil
	}
	if written := inKana(word); utf8.RuneCountInString(written) > 1 {
		tokens := slices.Collect(words(written))[0].tokens(nil, false)
		if has, err := v.Has(tokens, 1); err != nil {
			return err
		} else if has {
			c.others = append(c.others, tokens)
		}
	}
	typed := []rune(alike.Replace(word))
	limit := 0
	if len(typed) >= 5 {
		limit = 1
	}
	most := len(c.others) + maxOthers
	for _, first := range begunBy[word[0]] {
		err := v.Like(first, func(text string, _ int) {
			if utf8.RuneCountInString(text) <= len(word)+1 && len(c.others) < most &&
				distance(typed, []rune(alike.Replace(latin(text)))) <= limit {
				c.others = append(c.others, []string{text})
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
