package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/googleapis/gax-go/v2"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/option"
)

func openAzure(ctx context.Context, c *Azure, o Options) (*blob.Bucket, error) {
	httpClient, err := newHTTPClient(o)
	if err != nil {
		return nil, err
	}
	options := &container.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: finally{httpClient},
		Retry:     policy.RetryOptions{MaxRetries: requestAttempts - 1},
	}}
	identityClient, err := newIdentityClient(o)
	if err != nil {
		return nil, err
	}
	client, err := azureClient(c, o.CredentialsDir, options, identityClient)
	if err != nil {
		return nil, err
	}
	return azureblob.OpenBucket(ctx, client, nil)
}

// finally sends a request, and has Azure's client end with what another attempt would meet as well.
type finally struct{ *http.Client }

func (c finally) Do(request *http.Request) (*http.Response, error) {
	response, err := c.Client.Do(request)
	if isFinal(err) == aws.FalseTernary {
		err = final{err}
	}
	return response, err
}

// final is not tried again (Azure/azure-sdk-for-go:sdk/internal/errorinfo/errorinfo.go).
type final struct{ error }

// NonRetriable says so.
func (final) NonRetriable() {}

// Unwrap gives the cause.
func (f final) Unwrap() error { return f.error }

func azureClient(c *Azure, dir string, options *container.ClientOptions,
	identityClient *http.Client) (*container.Client, error) {
	if dir == "" {
		if c.Endpoint == "" {
			return nil, errors.New("neither an endpoint nor a Secret says which account of Azure it is")
		}
		asking := options.ClientOptions
		asking.Transport = identityClient
		identity, err := azidentity.NewDefaultAzureCredential(
			&azidentity.DefaultAzureCredentialOptions{ClientOptions: asking})
		if err != nil {
			return nil, fmt.Errorf("find the credentials of the environment: %w", err)
		}
		return container.NewClient(azureURL(c, ""), identity, options)
	}
	account, err := readCredential(dir, fileAccountName)
	if err != nil {
		return nil, err
	}
	key, err := readCredential(dir, fileAccountKey)
	if err != nil {
		return nil, err
	}
	credential, err := container.NewSharedKeyCredential(account, key)
	if err != nil {
		return nil, fmt.Errorf("read the credentials: %s is not base64", fileAccountKey)
	}
	return container.NewClientWithSharedKeyCredential(azureURL(c, account), credential, options)
}

// azureURL is a container's address; an endpoint of the user's ends where the containers' names begin.
func azureURL(c *Azure, account string) string {
	endpoint := c.Endpoint
	if endpoint == "" {
		endpoint = "https://" + account + ".blob.core.windows.net"
	}
	return strings.TrimSuffix(endpoint, "/") + "/" + c.Container
}

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
