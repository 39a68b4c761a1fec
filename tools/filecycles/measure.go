package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Package is the measurement of one package.
type Package struct {
	Dir   string   // relative to the measured directory, "." for itself
	Files int      // without tests
	Lines int      // of those files
	Cycle []string // the largest cycle's files by name; empty if no two files need each other
}

// Measure reads the packages that the patterns name, relative to dir, like the go command.
func Measure(ctx context.Context, dir string, patterns ...string) ([]Package, error) {
	listed, err := list(ctx, dir, patterns)
	if err != nil {
		return nil, err
	}
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range listed {
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	})
	var found []Package
	for _, p := range listed {
		if p.DepOnly {
			continue
		}
		uses, lines, err := usesOf(fset, imports, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		rel, err := filepath.Rel(root, p.Dir)
		if err != nil {
			return nil, err
		}
		found = append(found, Package{Dir: filepath.ToSlash(rel), Files: len(p.GoFiles), Lines: lines, Cycle: largestCycle(uses)})
	}
	slices.SortFunc(found, func(a, b Package) int { return bytes.Compare([]byte(a.Dir), []byte(b.Dir)) })
	return found, nil
}

// listed is a package in the output of go list.
type listed struct {
	ImportPath, Name, Dir, Export string
	GoFiles                       []string
	DepOnly                       bool
}

// list returns the packages that the patterns name, and all that those import. Programs have no export data: nothing
// imports them, and compiling them is slow.
func list(ctx context.Context, dir string, patterns []string) ([]listed, error) {
	all, err := goList(ctx, dir, append([]string{"-deps"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	// make test compiles the packages with the same flag: they are not compiled twice
	export := []string{"-export", "-gcflags=./...=-dwarf=false"}
	for _, p := range all {
		if p.Name != "main" {
			export = append(export, p.ImportPath)
		}
	}
	compiled, err := goList(ctx, dir, export...)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range compiled {
		exports[p.ImportPath] = p.Export
	}
	for i := range all {
		all[i].Export = exports[all[i].ImportPath]
	}
	return all, nil
}

func goList(ctx context.Context, dir string, args ...string) ([]listed, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-json=ImportPath,Name,Dir,Export,GoFiles,DepOnly"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// usesOf returns which other files of a package each file uses, by name.
func usesOf(fset *token.FileSet, imports types.Importer, p listed) (map[string][]string, int, error) {
	var files []*ast.File
	lines, uses := 0, map[string][]string{}
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, 0, err
		}
		files = append(files, f)
		lines += fset.File(f.FileStart).LineCount()
		uses[name] = nil
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: imports}
	pkg, err := conf.Check(p.ImportPath, fset, files, info)
	if err != nil {
		return nil, 0, err
	}
	for id, used := range info.Uses {
		if used.Pkg() != pkg || !used.Pos().IsValid() {
			continue
		}
		from, to := fileOf(fset, id.Pos()), fileOf(fset, used.Pos())
		if from != to && !slices.Contains(uses[from], to) {
			uses[from] = append(uses[from], to)
		}
	}
	return uses, lines, nil
}

func fileOf(fset *token.FileSet, pos token.Pos) string {
	return filepath.Base(fset.Position(pos).Filename)
}
