export declare const GUESS_LIMITS: {
    readonly network: {
        readonly accounts: 30;
        readonly withinMs: 3600000;
    };
    readonly password: {
        readonly accounts: 10;
        readonly withinMs: number;
    };
};
export type GuessKind = keyof typeof GUESS_LIMITS;
