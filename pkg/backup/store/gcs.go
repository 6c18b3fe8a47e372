package store

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"cloud.google.com/go/storage"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/googleapis/gax-go/v2"
	"gocloud.dev/blob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/option"
)

// gcsScope is the least that reads, writes and deletes objects.
const gcsScope = "https://www.googleapis.com/auth/devstorage.read_write"

func openGCS(ctx context.Context, c *GCS, o Options) (*blob.Bucket, error) {
	httpClient, err := newHTTPClient(o)
	if err != nil {
		return nil, err
	}
	identityClient, err := newIdentityClient(o)
	if err != nil {
		return nil, err
	}
	// The source outlives this call.
	ctx = context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, identityClient)
	tokens, err := gcsTokens(ctx, o.CredentialsDir)
	if err != nil {
		return nil, err
	}
	client := &gcp.HTTPClient{Client: http.Client{
		Transport:     &oauth2.Transport{Base: httpClient.Transport, Source: tokens},
		CheckRedirect: stayOnHost,
	}}
	options := &gcsblob.Options{}
	if c.Endpoint != "" {
		options.ClientOptions = append(options.ClientOptions,
			option.WithEndpoint(strings.TrimSuffix(c.Endpoint, "/")+"/storage/v1/"))
	}
	bucket, err := gcsblob.OpenBucket(ctx, client, c.Bucket, options)
	if err != nil {
		return nil, err
	}
	var uploads *storage.Client
	if bucket.As(&uploads) {
		// An upload on a connection that ends is not tried again by default.
		uploads.SetRetry(storage.WithErrorFunc(isPassing), storage.WithMaxAttempts(requestAttempts),
			storage.WithBackoff(gax.Backoff{Max: maxBackoff}))
	}
	return bucket, nil
}

// isPassing says that a request may do better when it is sent again.
func isPassing(err error) bool {
	return isFinal(err) != aws.FalseTernary && storage.ShouldRetry(err)
}

func gcsTokens(ctx context.Context, dir string) (oauth2.TokenSource, error) {
	if dir == "" {
		ambient, err := google.FindDefaultCredentials(ctx, gcsScope)
		if err != nil {
			return nil, fmt.Errorf("find the credentials of the environment: %w", err)
		}
		return ambient.TokenSource, nil
	}
	text, err := readCredential(dir, fileServiceAccount)
	if err != nil {
		return nil, err
	}
	// Only a service account's key is taken: the other kinds of credential files name programs to run and hosts to ask.
	config, err := google.JWTConfigFromJSON([]byte(text), gcsScope)
	if err != nil {
		return nil, fmt.Errorf("read the credentials: %s is not a service account's key", fileServiceAccount)
	}
	return config.TokenSource(ctx), nil
}
