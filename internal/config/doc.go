// Package config resolves what the program runs with: flags, environment variables, the config file with its line
// numbers, the API key, and the clock. It also takes secrets out of what is shown.
package config
