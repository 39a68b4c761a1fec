// Package english_test counts the sentences that a native reader reads twice, in comments, documents, strings that
// people see and names of tests. It fails above an allowance for each kind of flaw, and the allowance only shrinks.
//
//	go test ./tools/english -v -run Keeps            # counts by kind and by package
//	go test ./tools/english -v -run Keeps -places    # every place
//	go test ./tools/english -run Keeps -update       # lowers the allowance to today's counts
package english_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root      = "../.."
	allowance = "allowance.txt"
)

var (
	places = flag.Bool("places", false, "list every place")
	update = flag.Bool("update", false, "lower the allowance to today's counts")
)

func TestEnglishKeepsItsAllowance(t *testing.T) {
	all, err := scan(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10000 {
		t.Fatalf("read %d sentences: the scan is broken, want at least 10000", len(all))
	}
	byKind, byPackage, lines := map[string]int{}, map[string]int{}, map[string][]string{}
	for _, s := range all {
		for _, name := range flaws(s.Text) {
			byKind[name]++
			byPackage[path.Dir(s.File)]++
			lines[name] = append(lines[name], fmt.Sprintf("%s:%d: %s: %s", s.File, s.Line, name, s.Text))
		}
	}
	allowed := readAllowance(t)
	for _, k := range kinds {
		t.Logf("%-12s %4d, allowed %4d", k.Name, byKind[k.Name], allowed[k.Name])
		if *places {
			t.Log("\n" + strings.Join(lines[k.Name], "\n"))
		}
		if byKind[k.Name] > allowed[k.Name] {
			t.Errorf("%d places of kind %q, allowed %d. Rewrite the new one: %s.\nList: go test ./tools/english -v -run Keeps -places",
				byKind[k.Name], k.Name, allowed[k.Name], k.Cure)
		}
	}
	if testing.Verbose() {
		for _, dir := range slices.SortedFunc(maps.Keys(byPackage), func(a, b string) int { return cmp.Compare(byPackage[b], byPackage[a]) }) {
			t.Logf("%4d %s", byPackage[dir], dir)
		}
	}
	if *update {
		writeAllowance(t, byKind, allowed)
	}
}

func readAllowance(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile(allowance)
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]int{}
	for line := range strings.Lines(string(text)) {
		name, count, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Fatalf("%s: %q: want kind: count", allowance, line)
		}
		allowed[name] = n
	}
	return allowed
}

func writeAllowance(t *testing.T, counts, allowed map[string]int) {
	t.Helper()
	var b strings.Builder
	for _, k := range kinds {
		n := counts[k.Name]
		if old, ok := allowed[k.Name]; ok {
			n = min(n, old)
		}
		fmt.Fprintf(&b, "%s: %d\n", k.Name, n)
	}
	if err := os.WriteFile(allowance, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestEachPatternFindsItsFlaw(t *testing.T) {
	tests := []struct{ sentence, want string }{
		{"Sync posts what the ledger lacks.", "clause"},
		{"Whose lease is over, loses the slot.", "clause"},
		{"Sync posts the missing rows.", ""},
		{"What does a day cost?", ""},
		{"The report says what to do next.", ""},
		{"Nobody spends twice.", "whoever"},
		{"No host spends twice.", ""},
		{"The hour in which the limit is used up.", "of which"},
		{"The hour when the limit is used up.", ""},
		{"The limits are those of the second ledger.", "those of"},
		{"The limits equal the second ledger's limits.", ""},
		{"To Redis the first replica begins a new history.", "fronted"},
		{"Of the ledgers on servers only one is raced.", "fronted"},
		{"Attaching the first replica changes Redis's replication id.", ""},
		{"How old it is, is said once.", "bare passive"},
		{"The report prints its age once.", ""},
		{"Its clock is the provider's, not ours.", "possessive"},
		{"It keeps the provider's clock.", ""},
		{"The copy has not the newest rows.", "has not"},
		{"The copy does not have the newest rows.", ""},
	}
	for _, tt := range tests {
		if got := strings.Join(flaws(tt.sentence), " "); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.sentence, got, tt.want)
		}
	}
}

func TestScanReadsEveryPlaceOfText(t *testing.T) {
	text := "// Package p takes\n// one unit. It is exact.\npackage p\n\nimport _ \"a b\"\n\n//nolint:x // no\nvar s = \"two words\" // three\n"
	tests := []struct{ file, text, want string }{
		{"p.go", text, "Package p takes one unit.|It is exact.|three|two words"},
		{"p_test.go", "package p\n\nfunc TestTwoHTTPCalls() { _ = \"two words\" }\n", "two http calls"},
		{"p.md", "# Head\n\n| a | b c |\n\n```sh\ncode\n```\nOne\nline.\n", "# Head|a|b c|One line."},
		{"p.sql", "-- One row.\nSELECT 1; -- one\n", "One row.|one"},
	}
	for _, tt := range tests {
		found, err := readers[path.Ext(tt.file)](tt.file, tt.text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range found {
			got = append(got, s.Text)
		}
		if strings.Join(got, "|") != tt.want {
			t.Errorf("%s: got %q, want %q", tt.file, strings.Join(got, "|"), tt.want)
		}
	}
}
