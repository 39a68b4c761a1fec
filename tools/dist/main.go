// Command dist packs a release: archives, packages, an image, a formula, a bill of materials and their checksums,
// from the build of tools/dist.sh. The same commit gives the same bytes, in any directory and on any day.
//
//	go run . -version v0.1.0 -epoch SECONDS -root REPOSITORY -stage DIR -out DIR
//
// The stage holds bin/OS_ARCH/ingest for each platform, man/*.1 and completions/{bash,zsh,fish}. Exit: 0 packed, 1 not,
// 2 usage.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"
)

// release is the input of all artifacts.
type release struct {
	Version string    // without the v: 0.1.0
	Time    time.Time // of the commit: the time of every file inside
	Root    string    // the repository
	Stage   string    // the built files
	Out     string    // where the artifacts go

	Platforms []platform // to build for: tools/platforms
}

type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "_" + p.arch }

// program returns the path of the program built for a platform.
func (r release) program(p platform) string {
	name := "ingest"
	if p.os == "windows" {
		name += ".exe"
	}
	return r.Stage + "/bin/" + p.String() + "/" + name
}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	r, err := parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "dist: %v\n", err)
		return 2
	}
	for _, step := range []struct {
		name string
		do   func(release) error
	}{
		{"archives", archives}, {"packages", packages}, {"image", image}, {"bill of materials", billOfMaterials}, {"formula", formula}, {"checksums", checksums},
	} {
		if err := step.do(r); err != nil {
			fmt.Fprintf(os.Stderr, "dist: %s: %v\n", step.name, err)
			return 1
		}
	}
	return 0
}

func parse(args []string) (r release, err error) {
	flags := flag.NewFlagSet("dist", flag.ContinueOnError)
	tag := flags.String("version", "", "the version, as git describe names it")
	epoch := flags.Int64("epoch", 0, "the commit's time in `seconds` since 1970")
	flags.StringVar(&r.Root, "root", ".", "the repository")
	flags.StringVar(&r.Stage, "stage", "", "the built files")
	flags.StringVar(&r.Out, "out", "", "where the artifacts go")
	if err := flags.Parse(args); err != nil {
		return r, err
	}
	if *tag == "" || *epoch <= 0 || r.Stage == "" || r.Out == "" {
		return r, errors.New("-version, -epoch, -stage and -out are needed")
	}
	r.Version, r.Time = versionOf(*tag), time.Unix(*epoch, 0).UTC()
	list, err := os.ReadFile(r.Root + "/tools/platforms")
	for line := range strings.FieldsSeq(string(list)) {
		system, arch, _ := strings.Cut(line, "/")
		r.Platforms = append(r.Platforms, platform{system, arch})
	}
	return r, err
}

var tagged = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+`)

// versionOf returns the version of packages. A commit without a tag sorts before every release.
func versionOf(tag string) string {
	if tagged.MatchString(tag) {
		return strings.TrimPrefix(tag, "v")
	}
	return "0.0.0-dev." + strings.ReplaceAll(tag, "-", ".")
}
