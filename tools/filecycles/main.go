// Command filecycles prints, for every package, the largest cycle of files that use each other's names, directly or
// indirectly: how many files a reader must keep in mind at once.
//
//	go run ./tools/filecycles [-v] [packages]
//
// A file uses another if it names something that the other declares: a constant, variable, function, type, method or
// field. Test files are left out. -v lists the files of each cycle.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	verbose := flag.Bool("v", false, "list the files of each largest cycle")
	flag.Parse()
	patterns := flag.Args()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	found, err := Measure(context.Background(), ".", patterns...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "filecycles:", err)
		os.Exit(1)
	}
	fmt.Printf("%-28s %5s %5s %6s\n", "package", "files", "cycle", "lines")
	for _, p := range found {
		fmt.Printf("%-28s %5d %5d %6d\n", p.Dir, p.Files, len(p.Cycle), p.Lines)
		if *verbose && len(p.Cycle) > 1 {
			fmt.Println("    " + strings.Join(p.Cycle, " "))
		}
	}
}
