/* tree.c: builds a tree and leaks half of it. README.md records its heap. */
#include <stdlib.h>

struct node {
    struct node *left, *right;
    char payload[100];
};

static struct node *grow(int depth)
{
    struct node *node = calloc(1, sizeof *node);
    if (node != NULL && depth > 0) {
        node->left = grow(depth - 1);
        node->right = grow(depth - 1);
    }
    return node;
}

static void cut(struct node *node)
{
    if (node == NULL)
        return;
    cut(node->left);
    cut(node->right);
    free(node);
}

int main(void)
{
    struct node *tree = grow(12);
    if (tree == NULL)
        return 1;
    cut(tree->left);
    free(tree);
    return 0;
}
