/*
 * s3_account.h: where a bucket is and who asks, from the variables and files that AWS's tools use too:
 *
 *     AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL           http(s)://HOST[:PORT][/PATH]; without it Amazon's, by region
 *     AWS_REGION, AWS_DEFAULT_REGION                  us-east-1 if not set
 *     AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
 *     AWS_PROFILE                                     a section of the files, "default" if not set
 *     AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE    ~/.aws/credentials and ~/.aws/config if not set
 *     AWS_CA_BUNDLE                                   authorities for https
 *
 * A variable wins over a file. Of the files: aws_access_key_id, aws_secret_access_key, aws_session_token, region and
 * endpoint_url.
 */
#ifndef SXT_STORE_S3_ACCOUNT_H
#define SXT_STORE_S3_ACCOUNT_H

#include <stdbool.h>

#include <sextant/error.h>

#include "store/s3_sign.h"

struct sxt_s3_account {
    struct sxt_s3_identity identity;
    char origin[300]; /* "https://host:port" */
    char host[280];   /* for the Host header: without the port if it is the usual one */
    char path[300];   /* before the bucket: "" or "/path", encoded as given */
    char ca_file[512];
};

int sxt_s3_account_load(struct sxt_s3_account *account, sxt_error *error);

#endif
