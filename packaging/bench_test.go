package packaging_test

import (
	"os"
	"strings"
	"testing"
)

// make bench builds the store once more with SQLite in C, by replacing the driver's name where it is opened
// (bench/store/writing.go). A call that moved broke it unseen, because nothing else runs it.
func TestTheBenchFindsTheDriverToReplace(t *testing.T) {
	text, err := os.ReadFile("../internal/sqlitefile/open.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), `sql.Open("sqlite", `); n != 1 {
		t.Errorf("internal/sqlitefile/open.go names the driver %d times, want once", n)
	}
}
