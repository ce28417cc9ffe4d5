#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>
struct Article { std::string name; long price; };
static std::map<std::string, std::vector<Article>> shelves;
static int counts[64];
void put(const std::string &shelf, const Article &article) { shelves[shelf].push_back(article); counts[shelf.size() % 64]++; }
long total(const std::string &shelf)
{
    long sum = 0;
    for (const Article &article : shelves[shelf])
        sum += article.price;
    return sum;
}
void order(const std::string &shelf)
{
    std::vector<Article> &all = shelves[shelf];
    std::sort(all.begin(), all.end(), [](const Article &a, const Article &b) { return a.price < b.price; });
}
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        put("top", {argv[i], i});
    order("top");
    std::printf("%ld articles in %d\n", total("top"), counts[3]);
}
