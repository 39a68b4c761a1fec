package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// allowList lists the skips that do not count as failures.
type allowList struct {
	file    string
	reasons []*regexp.Regexp
}

// readAllowList reads a name and a regular expression per line; "#" begins a comment.
func readAllowList(file string) (*allowList, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the allowed skips: %w", err)
	}
	list := &allowList{file: file}
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		_, pattern, _ := strings.Cut(line, " ")
		pattern = strings.TrimSpace(pattern)
		if pattern == "" {
			return nil, fmt.Errorf("%s:%d: want a name and a regular expression, as in \"docker ^docker: \"", file, i+1)
		}
		reason, err := regexp.Compile(pattern)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		list.reasons = append(list.reasons, reason)
	}
	return list, nil
}

func (l *allowList) match(reason string) bool {
	for _, r := range l.reasons {
		if r.MatchString(reason) {
			return true
		}
	}
	return false
}
