package main

import (
	_ "embed"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trendvidstream/ingest/internal/config"
)

// helpText has a section of text per command, and one of its examples.
//
//go:embed help.txt
var helpText string

// describe gives a command and all below it their sections, and completes the values of their flags.
func (a *app) describe(cmd *cobra.Command, sections map[string]string) {
	cmd.Long = strings.TrimSpace(sections[cmd.CommandPath()] + "\n" + cmd.Long)
	if examples, ok := sections[cmd.CommandPath()+": examples"]; ok {
		cmd.Example = strings.TrimRight(examples, "\n")
	}
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		v, ok := f.Value.(*config.FlagValue)
		var values cobra.CompletionFunc
		switch {
		case f.Name == "region":
			values = a.completion(regionsOf)
		case ok && v.Choices() != nil:
			values = cobra.FixedCompletions(v.Choices(), cobra.ShellCompDirectiveNoFileComp)
		default:
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, values) // of a flag that is there
	})
	for _, sub := range cmd.Commands() {
		a.describe(sub, sections)
	}
}

// helpSections are the sections of a help text, by the line above them: -- NAME --.
func helpSections(text string) map[string]string {
	sections := map[string]string{}
	for part := range strings.SplitSeq("\n"+text, "\n-- ") {
		name, body, _ := strings.Cut(part, " --\n")
		sections[name] = body + "\n"
	}
	return sections
}
