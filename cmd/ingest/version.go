package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

type versionDocument struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.printJSON(versionDocument{version, runtime.Version(), runtime.GOOS, runtime.GOARCH})
			}
			return a.printVersion()
		},
	}
}

func (a *app) printVersion() error {
	_, err := fmt.Fprintf(a.stdout, "ingest %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
