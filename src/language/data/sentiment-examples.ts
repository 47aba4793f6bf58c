/**
 * Labelled sentences (n negative, x neutral, p positive). The scorer counts their words and pairs of words to learn
 * what no lexicon shows: who is addressed, what is denied, how the sentence is put. It uses these counts only where the
 * lexicon finds nothing. Sentences of the held-out set (test/fixtures/language/sentiment-held.jsonl) must never stand
 * here. Long because it is one list of data.
 */
export const sentimentExamples = `
n This is the third time I've had to call about the same bill, and I'm fed up.
x I'd like to change the address on my account, please.
p You've been so helpful, honestly, thank you.
n How many more times do I have to explain this?
x The heater stops after an hour.
x I'm sorry to hear that, let me look into it for you.
n Oh brilliant, another week without internet.
p No trouble at all so far, it just works.
n I want to cancel, I've had enough of you people.
x Can I cancel my subscription?
x Okay, thank you.
n Your website is a joke.
p I'm really pleased with the new phone.
n Nobody ever calls me back.
x My card was stolen on Monday.
n I'm worried that someone is using my account.
x Is there anything else I can help you with today?
p That's exactly what I needed.
n Frankly, I expected better from a company this size.
x I was charged twice for the same order.
n You charged me twice again and I'm sick of it.
p What a relief, I thought I'd lost it all.
n I don't believe a word of it.
x Please hold while I transfer you.
n With all due respect, that's a ridiculous answer.
p The engineer was brilliant.
n That isn't good enough.
x I was told to call back today.
n I'll be taking my business elsewhere.
x There's no dial tone on the line.
p It isn't bad at all, actually I quite like it.
x We apologise for any inconvenience this may have caused.
n It's been nothing but trouble since day one.
x How do I reset my password?
p I couldn't be happier.
n Sure, because waiting six weeks is perfectly normal.
x I haven't received my refund yet.
n I was really hoping you'd be able to fix this, but clearly not.
p Wow, that was quick!
x It's the blue one, not the red one.
n i'm i'm just really frustrated with this whole thing
x yeah it it just keeps restarting
p oh that's great thank you so so much
x um i need to update my card details
n no that's that's not acceptable i'm sorry
n this is um a complete waste of my time
x okay so what do i do now
p yeah it's been working perfectly since you you changed it
n you guys keep lying to me
x no problem let me check that for you
n i feel like i've been scammed
x it says error code five
n why does it always take so long with you
p i love it it's so easy to use
n i'm scared i'm gonna lose all my photos
x thanks for holding
x it was delivered to the wrong house
n great so now i have to pay for your mistake
p oh thank god that's such a relief
x uh huh yeah
n i don't want an apology i want it fixed
x how long is it gonna take
n honestly i've never been treated like this in my life
p you're a star thank you
x i can't log in to my account
n that's just not fair
x i understand your frustration and i'll do my best to help
n i regret ever signing up with you
p the new one is much better than the old one
x i think the battery is dead
n it's not working and it's driving me crazy
x what's the the number for the support line
n if this isn't fixed by friday i'm leaving
p i wasn't expecting much but this is fantastic
x could you speak up a little please
n you should be ashamed of yourselves
x good morning how can i help
x the bill is higher than last month
n i can't believe you'd do this to a customer
p that makes me feel a lot better
x yes please
n what's the point of paying for support then
n You clearly have no intention of honouring the guarantee.
x The courier left the box with the neighbour at number six.
n I have been a loyal customer for twelve years and this is how I get thanked.
p Your technician turned up early and left the place spotless.
n I'd rather pull out my own teeth than ring this line again.
x I would like a written confirmation of that.
n That's the fourth technician and the problem is still there.
x Could you email me the terms and conditions?
n It's a bit rich to charge me a late fee when you sent the bill to the wrong address.
p Honestly I can't praise your team highly enough.
x My subscription renews on the first of the month.
n My kids have had no hot water for nine days, do you have any idea what that's like?
n i don't know why i bother
p oh brilliant that's made my morning
x i've tried turning it off and on again
n you promised me a call back yesterday and nobody rang
x the driver said he couldn't find the house
n i'm not paying a penny more
p you sorted in five minutes what the others couldn't do in a month
n so i'm just supposed to sit here in the dark am i
x can you check if the payment went through
x there's water coming through the ceiling
n this is so unfair
p yeah no it's been really good actually
n i've lost all faith in you
x i'm ringing about a parking fine
n you're having a laugh
p that is such good news
x it turned itself off in the middle of the night
n honestly words fail me
n I'm very concerned about the security of my account.
x Is the warranty still valid?
n What a shambles of a company.
p I appreciate how quickly you dealt with this.
x We're closing the account because we're moving abroad.
n If you can't sort this out I'll be contacting the ombudsman.
x The technician arrived at noon and replaced the valve.
n I shouldn't have to chase you for my own money.
p It's a huge improvement on the old system.
x I understand how frustrating that must be, let me see what I can do.
x I'm terribly sorry for the mix-up.
n Absolutely disgusting service.
x You have been placed in a queue.
n I feel like nobody there takes me seriously.
p I never thought it would be that simple!
n Six phone calls and I'm no further forward.
x I'd be grateful if you could send it again.
x Could you please hurry, the shop closes at five?
n it keeps cutting out and it's doing my head in
x it keeps cutting out
n what a rubbish excuse
p thanks so much you've been a massive help
x do you have it in a larger size
n it's taken three weeks just to get a reply from you lot
p i'm really chuffed with it
n i'm so worried i haven't slept
x the baby is fine we just need the prescription
n not once did anyone apologise
p no complaints from me it's been spot on
x is it possible to speak with someone in spanish
n you've cost me a client
x the app asked me for a code
n well that was a complete let down
p gosh thank you that's very generous
n why is nobody taking responsibility
x i didn't get a text message
n i'm beyond angry
n I was made to wait outside in the rain for an hour.
x It took about an hour.
p Everything arrived in perfect condition.
n The food was inedible.
x The fridge isn't cooling.
x I need this sorted by Friday, please.
n I need this sorted now, I've waited long enough.
n how am i meant to work without a phone
x okay perfect thank you
x lovely and what's your postcode
p ah that's fantastic news
x sorry i didn't catch that
n that's a lie
n you keep saying that and nothing changes
x he told me it was free
n he told me it was free which was a lie
n I've been on hold for forty-five minutes and my lunch break is over, thanks a lot.
x I've been on hold for forty-five minutes.
x My internet has been out since yesterday morning.
n This is getting ridiculous, I just want a straight answer.
p The replacement works beautifully, thank you for sorting it.
x I'd like to know when my refund will be processed.
n Your app deleted all my photos and you don't even apologise?
x Would you mind repeating the reference number?
n I can't believe I have to go through this again.
p That's fantastic, you've made my day!
x I understand, let me transfer you to the right department.
n Could you please stop sending me these useless automated emails?
x The package shows as delivered, but I don't have it.
n It is simply not good enough that I have to chase this every week.
p I have to say I'm impressed by how fast you answered.
x We moved last month, so the old address is no longer valid.
n Fantastic, another outage during my meeting.
n oh wonderful so i've lost another day's work
x so the light on the box is orange and it doesn't connect
n i am not happy with the way this has been dealt with
p i'm so relieved that it's sorted
x i think i entered the wrong password
n you people have no idea what you're doing
p you've gone out of your way to help me thank you
x no i haven't tried that yet
n if you charge me one more time i'm closing my account
x thank you for your patience i've found your booking
n what's the use of a guarantee if you don't honour it
p it's never been so easy to change a booking
x i need to cancel my appointment on tuesday
n that's not what i was promised
n i feel really let down by this
x he said the part is out of stock
n it's the same story every time i call
p i've told all my friends about you
x can you send me a paper bill
n how can you lose a whole sofa
x is this call being recorded
n I'm beginning to think you don't want my custom.
p Not a single problem in five years, I couldn't ask for more.
x There seems to be a mistake on my bill.
n I'm shaking, somebody has emptied my savings.
x Somebody has emptied my savings account.
n There's absolutely no reason it should take this long.
x It normally takes about five days.
p The lady I spoke to yesterday was an absolute gem.
n I would give you zero out of ten if I could.
x On a scale of one to ten, I'd say five.
n Your hold music is driving me insane.
x I hung up because the line was bad.
n She hung up on me!
p Thanks, that explains everything perfectly.
x All right, I'll wait for the email then.
n I've got better things to do than sit on the phone with you all day.
x My mother passed away and I need to close her account.
n I'm heartbroken, those pictures were all I had left of my mother.
x I apologise for the delay, sir.
n Don't bother, I'll do it myself.
p Oh, that's much cheaper than I feared, great.
x it says insufficient funds
n i'm absolutely livid
n you've got some nerve
x does the price include tax
n every time i ring i get a different answer
p yay it's working
x the password reset link has expired
n i really don't appreciate being spoken to like that
p i really appreciate you staying late for this
x you can pay by card or by bank transfer
n so much for same day delivery
x it was due on wednesday
n i'm extremely concerned that my data was leaked
x my data plan is ten gigabytes
p this is the best phone i've ever owned
n this is the worst phone i've ever owned
x yes that's right it's under my husband's name
n i'd never have signed up if i'd known
x could i have a different seat please
p lovely job thank you so much
n why would i trust you after that
n it's an absolute disgrace how you treat older people
x i'm seventy eight and i don't use the internet
p it arrived two days early and it's gorgeous
x it arrived two days late
n You had one job.
x I just wanted to check the opening hours.
p Well, that couldn't have been simpler.
n I'm tired of explaining the same thing over and over.
x I'm tired, can we continue this tomorrow?
n With respect, you have not answered my question once.
n Thank you for wasting my time.
n Please, I'm begging you, just fix it.
n I've emailed three times and got no response whatsoever.
x Could you tell me what documents I need?
n It's been a month since I returned the item and I'm still out of pocket.
p My experience with your team has been nothing short of excellent.
x The machine leaks water from the bottom.
n I'm not an idiot, I know how to plug in a router.
x How do I change the language on the screen?
p This has taken such a load off my shoulders.
n Your prices have gone up but the quality has gone down.
x I'm locked out of my account.
n I'm at my wits' end with this dishwasher.
x We will need to verify your identity first.
n Do you think I have nothing better to do?
p Everything is running smoothly since the update.
x i think there's been a mix up with my order
n i've been a customer for fifteen years and you treat me like a criminal
n it's always somebody else's fault with you isn't it
x okay so i should press the red button first
p that's a very nice gesture thank you
x he's not at home at the moment
n you are literally stealing from me
x i was wondering if you could help me
n whatever just cancel it
p perfect you've been brilliant
n it's embarrassing to have my card declined in front of clients
x my card was declined
n the agent yesterday was extremely rude to me
x the agent yesterday told me to call back
n i don't feel comfortable giving you my details after what happened
x can you hear me now
n stop interrupting me and listen
p honestly i was dreading this call but you made it really easy
x the line is very quiet
n my elderly mother sat in the cold for two days because of you
x my mother's heating isn't working
n is it too much to ask for a working phone
p you guys never disappoint
x i only use it at weekends
n i've never felt so humiliated
x let me repeat that to make sure i got it right
n and you wonder why people leave
p thanks a bunch you're a lifesaver
x it's making a weird smell
n it smells disgusting
x my flight is tomorrow at six
n because of your delay i missed my sister's wedding
p oh that is a pleasant surprise
n i want to make a formal complaint about the appalling way i was treated
x i want to make a formal complaint
n I have had it up to here with your automated menus.
x Please listen to the following options.
n Not exactly what I'd call premium.
p I'm thankful for your quick help.
x What would the early termination fee be?
n An early termination fee? That's daylight robbery.
x My neighbour has the same plan.
n I want nothing more to do with you.
p It's such a weight off my shoulders to hear that.
x I'd rather speak to someone in person.
n Why is everything so complicated with you?
x I can call back later.
n Ridiculous.
p Excellent!
x Hello?
n I've asked for a supervisor twice and you keep avoiding the question.
x I'd like to add my wife to the policy.
n It's insulting that you think a voucher makes up for this.
p Your instructions were clear and it only took me five minutes.
x There's a noise on the line when it rains.
n I'm really disappointed, I've recommended you to all my friends.
x I was wondering whether my package has left the warehouse.
n So you want me to pay for something you broke?
p Honestly, I didn't expect such a quick response, thank you.
x The invoice is dated the first of March.
n That's not an answer.
x My contract ends in June.
n Every other company can do this in a day.
p It's been a pleasure doing business with you.
x Is it possible to pay in instalments?
n I don't feel safe using your app anymore.
n You've got to be kidding me.
x I think someone has hacked my email.
p Everything was explained so nicely.
x Right, I'll send the form tonight.
n it's just one thing after another with you guys
x yeah hi i'm calling about my order from last week
n honestly this is pathetic
p aw that's so kind of you
x um the tracking says it's still in leeds
n i've been waiting for this call all day and nobody rang
x so should i send it back to you
n i'm not gonna sit here and listen to that
p yeah i'm super happy with it
x my daughter dropped it in the bath
n no that's wrong and i told you that already
n i'm really scared that i'm going to lose my home
x it's the same card i used last time
p you've restored my faith in customer service
n what a waste of an afternoon
x i've unplugged everything
n how on earth did this pass quality control
x the guy said wednesday
n Your driver threw the parcel over the fence, it's in pieces.
x The parcel was left in the rain.
p I could kiss you, it works!
n If I had known this I would never have signed.
x Please take me off your mailing list.
n Take me off your damn list.
x I received an email saying my account was closed.
n I am beyond frustrated.
p Smooth from start to finish.
x I'd like to leave some feedback.
n I'd like to leave some feedback: your service stinks.
x We apologize for the wait.
n No, I will not calm down.
x No, the other number.
p Thanks to you we made our flight.
n Thanks to you we missed our flight.
x The technician is scheduled between eight and noon.
n Is anybody actually working there?
x Are you open on bank holidays?
n i feel like i'm talking to a brick wall
x it won't turn on anymore
n great job losing my luggage
p great job everyone
x i forgot my password again
n you forgot my order again
p this made our weekend
x i'm at the airport right now
n it's a total ripoff
x could you say that again the line is bad
n You clearly didn't read a word of my letter.
n I've got three kids and no washing machine, do you know what that's like?
n I'm paying for a service I'm not getting.
x The machine shows an error after ten minutes.
p I was treated like royalty.
n That's the third excuse I've heard today.
x Could you check whether the refund has gone through?
n Why do I have to explain this to a different person every time?
p Thanks for being so quick and so friendly.
x I moved house in April and forgot to tell you.
n I hope you're proud of yourselves.
x The charger gets hot.
n You had my word, I wish I had yours.
p Problem solved in two minutes, fantastic.
x My daughter would like to take over the contract.
n oh fantastic now it's completely dead
x i have a question about my bill
n you must think i'm an idiot
p you're so much better than my last provider
x they left it at the post office
n i've lost a whole day because of this
x when does my contract end
n so nobody can help me is that it
p i honestly didn't think you'd pick up so fast thank you
n i'm done being polite
x the light is flashing red and green
n it's shameful
x i've paid it by bank transfer
p this is brilliant thank you
n no apology no explanation nothing
x can i pick it up myself
n you've been promising me that for weeks
x he told me he'd call back
n i wouldn't wish this on anyone
p that was painless
x i'm not at home on thursday
n your prices are a scandal
x do you want the serial number
n you keep putting me on hold for no reason
n this is not what we agreed on
n i pay you every month for nothing
n you should have told me that before i signed
n that's three hours of my life i won't get back
n nobody warned me about this fee
n you guys messed up my order again
n i'm not asking for a favour i'm asking for what i paid for
n don't tell me to calm down
n you don't seem to understand the problem
n i was treated like a number
n why can't you just give me a straight answer
n i've had better service from a vending machine
n it's your mistake and i'm the one paying for it
n you never replied to any of my emails
n my patience has run out
n i won't be using you again
n you're making this way harder than it needs to be
n how is this even legal
n i don't want to hear another excuse
n i can't work because of you
n you told me one thing and your colleague told me another
n it's always the same with you people
n this whole process is a mess
n that man was extremely unfriendly
n i had to explain everything from the start again
n you lost my documents and now you blame me
n what do i have to do to get this fixed
n i hope someone gets fired for this
n i've spent more time on the phone with you than with my family
n your chat bot is useless
n that's a ridiculous amount of money
n i should have stayed with my old provider
n it's been broken since the day i bought it and you don't care
n do you even have a clue
n every day there's a new problem with this thing
n i want to know who is responsible for this mess
n you can't just take money out of my account like that
n this is unacceptable and you know it
n i am not paying for that
n somebody is going to pay for this
n that was the last time i order from you
n you said tomorrow and that was a week ago
n i'm getting really tired of this
n i feel cheated
n my baby has no food because your delivery didn't come
n seriously you want me to wait another week
n i'm starting to panic
n it makes me sick to think about it
n if you had listened we wouldn't be here
n it's a disaster
n you don't get to hang up on me
n is this what i pay premium for
n all i get is a robot
n stop reading from the script
n you had three weeks to fix it
n what a horrible experience
n i deserve an apology
n this isn't funny
n it's not my fault that your system is down
n well that's no help at all
n nothing has been done about it
n how stupid do you think i am
n what's taking so long
n you took my money and sent me nothing
n it's a nightmare trying to reach anyone
x hello yes i'm calling about a parcel
x my account number is on the letter
x can i change the delivery address
x the modem has four lights and two are off
x i placed the order on monday
x what time do you close today
x i'd like to upgrade my plan
x it's under my maiden name
x the price is on the website
x let me write that down
x sure go ahead
x i didn't get a receipt
x the door doesn't close properly
x they told me to call this number
x i'm looking at the bill now
x there are two charges on the fourth
x we have a joint account
x i need to report a lost card
x the line was cut off
x could you put that in writing
x i sent it back last week
x you should receive an email shortly
x your appointment is confirmed for friday
x i can offer you a replacement
x may i ask what happened
x please stay on the line
x i'm transferring you now
x you can find it in the settings
x it usually takes two or three days
x i've made a note on your account
x would you like me to book that for you
x i have it here in front of me
x my wife spoke to you yesterday
x is there a fee for that
x i think it was sent to my old address
x my screen is black
x it says try again later
x the engine makes a noise when it's cold
x i can't hear you very well
x i was in hospital last month
x my father died in january
x i'd like to speak to the manager
x there's a hole in the box
x it was working yesterday
x they cancelled my train
x i lost my phone on the bus
x someone broke into my car
x nobody was home when you came
x yes i've tried that already
x no i don't have the reference
x you asked me to send a photo
x do you have anything cheaper
x which one do you recommend
x i'm not sure which model it is
x i don't know the password
x you charged the card ending in four four
x i want to return these shoes
x i never received the confirmation
x it's too big for me
x how do i get my money back
x i'll call back tomorrow
x hold on a second please
x one moment i'm looking
p you've gone above and beyond thank you
p that was so much easier than i thought
p i'm really grateful for your help today
p it looks amazing
p the kids love it
p best purchase i've made all year
p everything arrived on time and in great shape
p your colleague was a real gentleman
p i wish every company was like yours
p that solves everything thank you
p wow you're fast
p i've never had such good service
p it runs like a dream
p you just made my week
p i'm so happy with my new kitchen
p thanks to your help i got there in time
p the nurse was wonderful
p what a lovely surprise
p it was worth the wait
p i appreciate your honesty
p i can finally sleep again
p she explained it all so patiently
p you've been an absolute star
p i'll definitely be back
p that's the best news i've heard all day
p you really know your stuff
p it couldn't have gone better
p i'm amazed how well it works
p nice one cheers you've saved me a trip
p i'd give you ten stars if i could
p it fits perfectly
p i'm thrilled to bits
p that's exactly right thank you so much
p you handled it brilliantly
p it's working great now
p this is such a relief
p my mum is delighted with it
p we had a fantastic stay
p the driver was super friendly
p that's very thoughtful
`;
