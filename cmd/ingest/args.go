package main

import (
	_ "embed"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trendvidstream/ingest/internal/config"
)

// orAsk wants so many arguments, at least or exactly, and asks for them where they are not given.
func orAsk(args cobra.PositionalArgs, ask string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if args(cmd, given) == nil {
			return nil
		}
		return usageError{errors.New(ask)}
	}
}

// helpText has a section of text per command, and one of its examples.
//
//go:embed help.txt
var helpText string

// describe gives a command and all below it their sections, and completes the values of their flags.
func describe(cmd *cobra.Command, sections map[string]string) {
	cmd.Long = strings.TrimSpace(sections[cmd.CommandPath()] + "\n" + cmd.Long)
	if examples, ok := sections[cmd.CommandPath()+": examples"]; ok {
		cmd.Example = strings.TrimRight(examples, "\n")
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if v, ok := f.Value.(*config.FlagValue); ok && v.Choices() != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(v.Choices(), cobra.ShellCompDirectiveNoFileComp)) // of a flag that is there
		}
	})
	for _, sub := range cmd.Commands() {
		describe(sub, sections)
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

// flagError says which flag a value is wrong for.
func flagError(_ *cobra.Command, err error) error {
	if text, ok := errors.AsType[config.FlagError](err); ok {
		wrong, _ := errors.AsType[*pflag.InvalidValueError](err)
		err = errors.New("--" + wrong.GetFlag().Name + string(text))
	}
	return usageError{err}
}
