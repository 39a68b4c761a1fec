package pgstore

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Programs that know the same version must write the same tables, as in SQLite.
func TestTheSchemaChangesOnlyWithItsVersion(t *testing.T) {
	recorded := map[int]string{1: "fae895dc09a48eb3"}
	text := regexp.MustCompile(`--[^\n]*`).ReplaceAllString(schema, "")
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(strings.Fields(text), " "))))[:16]
	if version := SchemaVersion(); recorded[version] != sum {
		t.Errorf("the sum of schema.sql at version %d is %s, recorded is %q: add a step to steps and record the sum of the new version", version, sum, recorded[version])
	}
}

func TestAVectorSaysWhereTokensAre(t *testing.T) {
	for _, c := range []struct{ title, channel, tags, about, want string }{
		{"apfel baum", "kanal", "baum saft", "", `'=apfel':1A '=baum':2A,6C '=kanal':4B 'saft':7C`},
		{"", "", "saft saft", "", `'saft':3C,4C`},
		{"it's", "", `\n`, "", `'=it''s':1A '\\n':4C`},
		{strings.Repeat("é", longest+1), "", "", "", "'=" + strings.Repeat("é", longest) + "':1A"},
		{"", "", "", "", ""},
		{"", "", "saft", "saft baum", `'baum':6D 'saft':3C,5D`},
	} {
		got := strings.Fields(vector([4]string{c.title, c.channel, c.tags, c.about}))
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q: %s, want %s", c, got, c.want)
		}
	}
	if n := strings.Count(vector([4]string{strings.Repeat("a ", 2*most)}), ","); n != most-1 {
		t.Errorf("of %d tokens %d are kept", 2*most, n+1)
	}
}

// A word in a name is found by its lexeme alone, without a look at its positions, except where they matter.
func TestAQueryReadsPositionsOnlyWhereTheyMatter(t *testing.T) {
	for match, want := range map[string]string{
		`("apfel")`:                            `'=apfel' | 'apfel'`,
		`("apf" *)`:                            `'=apf':* | 'apf':*`,
		`{title channel} : (("apfel"))`:        `'=apfel'`,
		`{title channel} : (("apf" *))`:        `'=apf':*`,
		`{title channel} : (("apfel baum"))`:   `'=apfel':AB <-> '=baum':AB`,
		`tags : ("apfel")`:                     `'=apfel':C | 'apfel':C`,
		`channel : ("apf" *)`:                  `'=apf':*B`,
		`{title channel} : (tags : ("apfel"))`: `'=='`,
		`description : ("apfel")`:              `'=apfel':D | 'apfel':D`,
	} {
		if got := strings.NewReplacer("(", "", ")", "").Replace(tsquery(match)); got != want {
			t.Errorf("%s: %s, want %s", match, got, want)
		}
	}
}
