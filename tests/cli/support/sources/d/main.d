// Templates, nested functions, delegates and a class.
module example.main;

import core.stdc.stdio : printf;

T clamp(T)(T value, T low, T high)
{
    return value < low ? low : value > high ? high : value;
}

class Account
{
    private long balance;

    this(long start)
    {
        balance = start;
    }

    void pay(long amount)
    {
        if (amount < 0)
            throw new Exception("negative");
        balance += clamp(amount, 0L, 1000L);
    }

    int opApply(scope int delegate(long) visit)
    {
        foreach (step; 0 .. 3)
            if (auto stop = visit(balance >> step))
                return stop;
        return 0;
    }
}

int sum(int[] values)
{
    int total;
    void add(int value)
    {
        total += clamp(value, 1, 9);
    }

    foreach (value; values)
        add(value);
    return total;
}

int main(string[] arguments)
{
    auto account = new Account(arguments.length);
    account.pay(500);
    long seen;
    foreach (long value; account)
        seen += value;
    int delegate(int) twice = (int value) => value * 2 + cast(int) seen;
    printf("%d %ld\n", twice(sum([1, 20, 3])), account.balance);
    return 0;
}
