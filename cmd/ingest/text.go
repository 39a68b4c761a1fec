package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"golang.org/x/text/width"
)

// clean makes upstream text safe for a terminal: no control or escape characters, none that turn the
// direction of writing or are not seen, no line breaks.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case r == '\u200c' || r == '\u200d': // joiners: Hindi, Tamil and emoji need them
			return r
		case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar, r == '\u2028', r == '\u2029':
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// fit cleans s and cuts it to so many columns.
func fit(s string, columns int) string {
	s = clean(s)
	used := 0
	for i, r := range s {
		w := runeWidth(r)
		if used+w > columns-1 && textWidth(s[i:]) > columns-used {
			return s[:i] + "…"
		}
		used += w
	}
	return s
}

func textWidth(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth is how many terminal columns a character takes: none for a mark on the one before, two
// for wide East Asian ones and emoji.
func runeWidth(r rune) int {
	switch {
	case unicode.Is(unicode.Mn, r), unicode.Is(unicode.Me, r), r == '\u200c', r == '\u200d', r == '\ufe0f':
		return 0
	case r >= 0x1f300 && r <= 0x1faff:
		return 2
	}
	if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

// pad fits s and fills it up to so many columns.
func pad(s string, columns int) string {
	s = fit(s, columns)
	return s + strings.Repeat(" ", max(columns-textWidth(s), 0))
}

// wrap breaks s at spaces into lines of at most so many columns, where its words allow it; all but the
// first begin with indent.
func wrap(s string, columns int, indent string) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(clean(s)) {
		switch {
		case line == "":
			line = word
		case textWidth(line)+1+textWidth(word) > columns:
			lines = append(lines, line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	return strings.Join(append(lines, line), "\n")
}

// table aligns tab-separated lines.
func table(w io.Writer, write func(io.Writer)) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	write(t)
	return t.Flush()
}

// fitTable aligns rows of as many cells each. The widest of them fits the screen: what is too long for that
// is cut in the column give, which keeps 8 columns at least.
func fitTable(w io.Writer, rows [][]string, give int) error {
	left := screen
	for column := range rows[0] {
		widest := 0
		for _, row := range rows {
			row[column] = clean(row[column])
			widest = max(widest, textWidth(row[column]))
		}
		if column != give {
			left -= widest
		}
		if column > 0 {
			left -= 2
		}
	}
	return table(w, func(w io.Writer) {
		for _, row := range rows {
			row[give] = fit(row[give], max(left, 8))
			fmt.Fprintln(w, strings.Join(row, "\t"))
		}
	})
}

// thousands is n with separators, 10,000.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// poolText is so much of a pool: "32 units", "1 unit". Other pools than these are called what they are.
func poolText(n int64, pool string) string {
	if n == 1 && (pool == "units" || pool == "calls") {
		pool = strings.TrimSuffix(pool, "s")
	}
	return thousands(n) + " " + pool
}

// stamp is a time as screens show it: UTC, to the second.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// stampFrom is stamp of a time before which something cannot be done: rounded up, so that it is never too early.
func stampFrom(t time.Time) string {
	if t.IsZero() {
		return stamp(t)
	}
	return stamp(t.Add(time.Second - 1).Truncate(time.Second))
}
